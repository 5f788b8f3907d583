/* Pages are ranked by their labels: titles, headings, and the terms of their index. A label counts by the words that it
   shares with the query, in any order, stemmed, and without words such as "how" and "the"; it counts little on a page
   that lacks another word of the query. Sphinx knows only whether a word occurs, so its score decides between pages
   without such a label. Of pages alike, those that explain come first, then examples, then lists of names, then tables
   of figures. */
const BEHIND = [
  [/^(accuracy|speed|changelog)$/, 20],
  [/^(architecture|contributing|how-it-is-tested|project|where-is-what)$/, 7],
  [/^command-line$/, 25],
  [/^(index|course|howto\/coming-from)$|index$/, 6],
  [/-exercises$/, 5],
  [/^generated\/reference/, 4],
  [/^generated\/gallery/, 2],
];
const behind = (page) => BEHIND.find(([pattern]) => pattern.test(page))?.[1] ?? 0;
const WEIGHTS = { index: 100, title: 90, heading: 70, words: 20 };
const ALIKE = 0.5; /* of the words of a label and a query, the share that has to be in both */

const wordsOf = (text) => {
  const stemmer = new Stemmer();
  const words = splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word) && !/^\d+$/.test(word));
  return new Set(words.map((word) => stemmer.stemWord(word)));
};
const alike = (one, other) => (2 * [...one].filter((word) => other.has(word)).length) / (one.size + other.size || 1);

/* The labels of all pages: words, weight, and the result that leads there. */
let known;
const labels = () => {
  const { alltitles, titles, docnames, filenames, indexentries } = Search._index;
  const label = (text, file, id, kind) => ({
    words: wordsOf(text),
    weight: WEIGHTS[kind],
    result: [docnames[file], kind === "heading" ? `${titles[file]} > ${text}` : titles[file], id ? `#${id}` : "", null, 0, filenames[file], "title"],
  });
  const entries = Object.entries(indexentries).flatMap(([text, places]) =>
    places.filter(([, , isMain]) => isMain).map(([file]) => label(text, file, "", "index")));
  const headings = Object.entries(alltitles).flatMap(([text, places]) =>
    places.map(([file, id]) => label(text, file, id, titles[file] === text ? "title" : "heading")));
  const short = titles.flatMap((text, file) => (text.includes(": ") ? [label(text.split(": ")[0], file, "", "title")] : []));
  return [...entries, ...headings, ...short];
};

const ranked = (results, words) => {
  known ??= labels();
  const scored = (result, score) => result.with(4, score - behind(result[0]));
  const holding = new Set(results.map(([page]) => page));
  const answered = (page, own) => holding.has(page) || [...words].every((word) => own.has(word));
  const labelled = known
    .map(({ words: own, weight, result }) => [alike(own, words), answered(result[0], own) ? weight : weight / 4, result])
    .filter(([share]) => share >= ALIKE)
    .map(([share, weight, result]) => scored(result, weight * share));
  const others = results
    .filter((result) => !["title", "index"].includes(result[6]))
    .map((result) => scored(result, result[4] + WEIGHTS.words * alike(wordsOf(result[1]), words)));
  const seen = new Set();
  const once = (result) => {
    const key = result[6] === "object" ? result[1] + result[2] : result[0];
    return !seen.has(key) && seen.add(key);
  };
  /* Sphinx shows the last result first. */
  return [...labelled, ...others].sort((a, b) => b[4] - a[4] || a[1].localeCompare(b[1])).filter(once).reverse();
};

const found = Search._performSearch;
Search._performSearch = (query, words, ...rest) => ranked(found(query, words, ...rest), words);

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

/* Pages opened as files may not fetch one another: what the search shows of them comes from one script. */
if (window.location.protocol === "file:") {
  const root = new URL(document.documentElement.dataset.content_root || "./", window.location.href).href;
  const excerpts = new Promise((resolve) => {
    window.setExcerpts = resolve;
    const script = document.createElement("script");
    script.src = `${root}_static/excerpts.js`;
    script.onerror = () => resolve({});
    document.head.append(script);
  });
  const text = async (url) => (await excerpts)[new URL(url, window.location.href).href.slice(root.length)] || "";
  window.fetch = async (url) => new Response(await text(url));
}
