// Claims: a filter, whose state is in the fragment of the address, and links that open what they lead to.

/** Put the filter above the claims of all papers. */
function startClaims(part) {
  const ALL = { text: "", paper: "", verdict: "" };
  const groups = [...part.querySelectorAll(".claims-group")];
  const claims = [...part.querySelectorAll("tr[data-verdict]")].map((row) => ({
    row,
    paper: row.closest(".paper").dataset.paper,
    verdict: row.dataset.verdict,
    text: `${row.id} ${[...row.cells].map(words).join(" ")}`.toLowerCase(),
  }));
  // Verdicts are in the order of the list that says what they mean.
  const order = [...part.querySelectorAll("dt .verdict")].map((verdict) => verdict.textContent.replace(/^\S+\s+/, ""));
  const own = (key) => [...new Set(claims.map((claim) => claim[key]))].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  let chosen = ALL;

  function fits(claim, { text, paper, verdict }) {
    const found = text.toLowerCase().split(/\s+/).every((word) => claim.text.includes(word));
    return found && (!paper || claim.paper === paper) && (!verdict || claim.verdict === verdict);
  }

  const search = make("input", { type: "search", id: "claims-text", autocomplete: "off", placeholder: "such as ObjPM or fig. 2",
    oninput: () => choose({ text: search.value }), onchange: () => note() });
  const select = (key) => make("select", { id: `claims-${key}`, onchange: (event) => { choose({ [key]: event.target.value }); note(); } });
  const [paper, verdict] = [select("paper"), select("verdict")];
  const count = make("p", { class: "count", role: "status", id: "claims-count" });
  const link = make("a", { href: "#claims" }, "Link to this selection");
  const reset = make("button", { type: "button", onclick: () => { choose(ALL); note(); search.focus(); } }, "Show all claims");
  const labelled = (text, control) => make("label", {}, make("span", {}, text), control);
  groups[0].closest(".paper").before(
    make("div", { class: "controls", role: "search", "aria-label": "Claims" },
      labelled("Words in a claim", search), labelled("Paper", paper), labelled("Verdict", verdict)),
    count,
    make("div", { class: "tools" }, reset, link));

  function fragment() {
    const query = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value));
    return String(query) ? `#claims?${query}` : "#claims";
  }

  /** Write what is chosen into the address. */
  const note = () => history.replaceState(null, "", fragment());

  /** Options with the number of claims that each would show. */
  function fill(control, key, all, values) {
    const option = (value, text) => {
      const number = claims.filter((claim) => fits(claim, { ...chosen, [key]: value })).length;
      return make("option", { value }, `${text} (${number})`);
    };
    control.replaceChildren(option("", all), ...values.map((value) => option(value, value)));
    control.value = chosen[key];
  }

  function choose(change) {
    chosen = { ...chosen, ...change };
    const filtered = fragment() !== "#claims";
    const shown = claims.filter((claim) => fits(claim, chosen));
    for (const claim of claims) claim.row.hidden = !shown.includes(claim);
    for (const group of groups) {
      const rows = shown.filter(({ row }) => group.contains(row)).length;
      group.hidden = !rows;
      // Claims that were not judged are folded: a filter opens them, and folds them again when it is gone.
      if (group.tagName === "DETAILS" && filtered !== Boolean(group.dataset.wasOpen)) {
        if (filtered) group.dataset.wasOpen = group.open ? "yes" : "no";
        group.open = filtered || group.dataset.wasOpen === "yes";
        if (!filtered) delete group.dataset.wasOpen;
      }
    }
    for (const each of part.querySelectorAll(".paper")) {
      each.hidden = groups.every((group) => !each.contains(group) || group.hidden);
    }
    if (search.value !== chosen.text) search.value = chosen.text;
    fill(paper, "paper", "all papers", own("paper"));
    fill(verdict, "verdict", "all verdicts", own("verdict"));
    const outcomes = own("verdict").map((name) => [shown.filter((claim) => claim.verdict === name).length, name]);
    const parts = outcomes.filter(([number]) => number).map(([number, name]) => `${number} ${name}`);
    count.textContent = filtered
      ? `${shown.length} of ${claims.length} claims${parts.length ? `: ${parts.join(", ")}` : ""}.`
      : `All ${claims.length} claims.`;
    link.href = fragment();
    reset.hidden = !filtered;
  }

  /** Show what the address asks for. */
  function restore() {
    const query = asked("claims");
    const target = document.getElementById(location.hash.slice(1));
    if (query) {
      const given = Object.fromEntries(Object.keys(ALL).map((key) => [key, query.get(key) ?? ""]));
      const known = (key) => (own(key).includes(given[key]) ? given[key] : "");
      choose({ text: given.text.trim(), paper: known("paper"), verdict: known("verdict") });
      if (String(query)) part.querySelector(".controls").scrollIntoView();
    } else if (target && part.contains(target) && target.closest("[hidden]")) {
      choose(ALL); // the filter hides what a link leads to
    }
  }

  choose(ALL);
  restore();
  addEventListener("hashchange", restore);
}

/** Open what is folded around the part that the address names, and go there. */
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  const folded = target?.closest("details:not([open])");
  if (!folded || target.parentElement === folded) return;
  folded.open = true;
  target.scrollIntoView({ block: "center" });
}
