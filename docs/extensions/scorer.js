/* Pages that explain come before tables of figures in the results of a search; otherwise as Sphinx scores. */
const TABLES = ["accuracy", "speed", "changelog"];

var Scorer = {
  score: ([docname, , , , score]) => (TABLES.includes(docname) ? score - 20 : score),
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
