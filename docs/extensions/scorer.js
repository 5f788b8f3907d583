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
