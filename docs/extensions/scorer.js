/* Of pages that Sphinx scores alike, those that explain come first, then examples, then lists of names, then tables of figures. */
const BEHIND = [
  [/^(accuracy|speed|changelog)$/, 20],
  [/^(architecture|contributing|how-it-is-tested|project|where-is-what)$/, 7],
  [/^(index|course|command-line|howto\/coming-from)$|index$/, 6],
  [/-exercises$/, 5],
  [/^generated\/reference/, 4],
  [/^generated\/gallery/, 2],
];
const behind = (page) => BEHIND.find(([pattern]) => pattern.test(page))?.[1] ?? 0;
const INDEX = 40; /* Terms of the index of a page, which Sphinx gives up to 100, are put there to be found. */

var Scorer = {
  score: ([page, , , , score]) => (score > INDEX ? score : score - behind(page)),
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
