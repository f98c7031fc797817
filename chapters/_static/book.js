// Two things that need a script: charts, drawn when they come near the window, and the filters of the claims page.
(() => {
  "use strict";

  const dark = () => document.documentElement.dataset.theme === "dark";

  // ---- charts: one bundle, fetched from this site when the first chart comes near
  let bundle;

  function loadBundle() {
    bundle ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${document.documentElement.dataset.content_root || "./"}charts/vega.js`;
      script.onload = () => resolve(window.vegaEmbed);
      script.onerror = () => reject(new Error("the chart bundle could not be loaded"));
      document.head.append(script);
    });
    return bundle;
  }

  async function draw(place) {
    const spec = JSON.parse(place.parentElement.querySelector('script[type="application/json"]').textContent);
    const look = JSON.parse(place.dataset[dark() ? "dark" : "light"] || "{}");
    const embed = await loadBundle();
    // Vega-Lite fits one view to its place, not facets: beside their heads and labels they get what is left
    if (spec.encoding?.row && !spec.width) spec.width = Math.max(140, place.clientWidth - 250);
    // inside the labelled place, since the embedding puts a label of its own on the element that it is given
    const canvas = document.createElement("div");
    canvas.className = "chart-canvas";
    canvas.setAttribute("aria-hidden", "true");
    place.replaceChildren(canvas);
    place.dataset.drawn = dark() ? "dark" : "light";
    await embed(canvas, spec, { actions: false, renderer: "svg", config: look });
  }

  function watchCharts() {
    const places = [...document.querySelectorAll(".chart")];
    if (!places.length) return;
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        draw(entry.target).catch((error) => entry.target.append(error.message));
      }
    }, { rootMargin: "600px" });
    places.forEach((place) => near.observe(place));
    new MutationObserver(() => places.filter((place) => place.dataset.drawn).forEach(draw))
      .observe(document.documentElement, { attributeFilter: ["data-theme"] });
    window.addEventListener("beforeprint", () => places.filter((place) => !place.dataset.drawn).forEach(draw));
  }

  // ---- claims: search, filter, sort; the state is in the address, so that a view can be linked to
  const FIELDS = ["q", "chapter", "verdict"];

  function claims(root) {
    const form = root.querySelector("form");
    const rows = [...root.querySelectorAll("tbody tr")];
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

    const state = () => Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value.trim()]));

    function apply() {
      const wanted = state();
      const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of rows) {
        const fits = (!wanted.chapter || row.dataset.chapter === wanted.chapter)
          && (!wanted.verdict || row.dataset.verdict === wanted.verdict)
          && words.every((word) => texts.get(row).includes(word));
        row.hidden = !fits;
        count += fits;
      }
      form.querySelector("output").textContent = `${count} of ${rows.length} claims`;
    }

    function remember() {
      const query = new URLSearchParams(Object.entries(state()).filter(([, value]) => value)).toString();
      history.replaceState(null, "", query ? `#${query}` : location.pathname + location.search);
    }

    function recall() {
      const hash = decodeURIComponent(location.hash.slice(1));
      const target = hash && document.getElementById(hash);
      const query = new URLSearchParams(target ? "" : location.hash.slice(1));
      for (const name of FIELDS) form.elements[name].value = query.get(name) || "";
      apply();
      if (target && root.contains(target)) target.scrollIntoView();
    }

    form.addEventListener("input", () => { apply(); remember(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => { apply(); remember(); }));
    window.addEventListener("hashchange", recall);
    sortable(root.querySelector("table"));
    form.hidden = false;
    recall();
  }

  function sortable(table) {
    const order = new Intl.Collator("en", { numeric: true });
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const sorted = [...body.rows].sort((a, b) => order.compare(a.cells[column].textContent, b.cells[column].textContent));
        body.append(...(down ? sorted.reverse() : sorted));
      });
    });
  }

  // ---- formulas that are wider than the page scroll, so that the keyboard must reach them
  function reachFormulas() {
    for (const formula of document.querySelectorAll('mjx-container[display="true"]')) {
      const wide = formula.scrollWidth > formula.clientWidth;
      formula.toggleAttribute("tabindex", wide);
      if (wide) formula.tabIndex = 0;
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    if (document.querySelector(".math")) {
      window.addEventListener("load", () => window.MathJax?.startup?.promise?.then(reachFormulas));
      window.addEventListener("resize", reachFormulas);
    }
    watchCharts();
    document.querySelectorAll(".claims").forEach(claims);
  });
})();
