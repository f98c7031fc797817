// The calculator page: adds up what lib.cost has written out (lib/calculator/export.py), and draws it. No formula of a
// mechanism is here: costs come as points joined by straight lines, shares and weights as tables.
(() => {
  "use strict";

  const K = 1024, M = K * K;
  const PARTS = { kv: "keys, values, latents", index: "index keys", state: "recurrent state", window: "windows" };
  const TIMES = { compute: "compute", memory: "memory", link: "links" };
  const SVG = "http://www.w3.org/2000/svg";

  // ---- arithmetic

  function at(points, x) {
    let i = 1;
    while (i < points.length - 1 && points[i][0] < x) i += 1;
    const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
    return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
  }

  const sum = (values) => values.reduce((a, b) => a + b, 0);

  function evaluator(data, state, name) {
    const model = data.models[name], chip = data.chips[state.chip];
    const costs = model.costs[state.cached], on = model.splits[`${state.count} ${state.count > 1 ? state.split : "tensor"}`];
    const values = on.batches[data.batches.indexOf(state.batch)];
    const row = Object.fromEntries(data.columns.map((column, i) => [column, values[i]]));
    const rates = chip.rates, index = rates[model.index[state.cached]];

    function step(context) {
      const cache = row.sequences * sum(costs.layers.map((layer, i) => on.shares[i] * at(layer.moved, context)));
      const times = {
        compute: row.linear / rates[model.formats.weights] + row.routed / rates[model.formats.experts]
          + (row.heads * at(costs.attention, context)) / rates.bf16 + (row.index * at(costs.index, context)) / index,
        memory: (row.weights + cache) / chip.bandwidth,
        link: row.links / chip.link,
      };
      const lower = Math.max(...Object.values(times)), upper = sum(Object.values(times));
      const bound = Object.keys(times).reduce((a, b) => (times[b] > times[a] ? b : a));
      return { times, lower, upper, bound, weights: row.weights, cache };
    }

    function fits(context) {
      const each = sum(costs.layers.map((layer, i) => on.shares[i] * at(layer.held, context)));
      return Math.floor(Math.max(chip.memory - on.held, 0) / Math.max(each, 1)) * on.replicas;
    }

    const dollars = (seconds) => ((state.rent * state.count) / 3600) * (seconds / state.batch) * 1e6;
    return { step, fits, dollars, stored: (context) => Object.fromEntries(Object.keys(PARTS).map((part) => [part, at(costs.stored[part], context)])) };
  }

  // the largest context that passes; every condition worsens with context. NaN: not even the shortest; Infinity: all do
  function last(data, passes) {
    let low = data.contexts[0], high = data.contexts[data.contexts.length - 1];
    if (!passes(low)) return NaN;
    if (passes(high)) return Infinity;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (passes(middle)) low = middle; else high = middle;
    }
    return low;
  }

  function evaluate(data, state, name) {
    const cost = evaluator(data, state, name), step = cost.step(state.context);
    return {
      stored: cost.stored(state.context), ...step, fits: cost.fits(state.context),
      rate: state.batch / step.upper, dollars: [cost.dollars(step.lower), cost.dollars(step.upper)],
      ceilings: {
        memory: last(data, (context) => cost.fits(context) >= state.batch),
        tpot: last(data, (context) => cost.step(context).lower <= state.tpot),
        price: last(data, (context) => cost.dollars(cost.step(context).lower) <= state.price),
      },
    };
  }

  // ---- words

  function tokens(value, data) {
    if (Number.isNaN(value)) return `under ${tokens(data.contexts[0])}`;
    if (value === Infinity) return `over ${tokens(data.contexts[data.contexts.length - 1])}`;
    const [size, suffix] = value >= M ? [M, "M"] : [K, "K"];
    const scaled = value / size;
    return (Number.isInteger(scaled) || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)) + suffix;
  }

  function three(value) {
    if (!Number.isFinite(value)) return "–";
    return value >= 1000 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(3)).toString();
  }

  function bytes(value) {
    let size = value, i = 0;
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    while (size >= K && i < units.length - 1) { size /= K; i += 1; }
    return `${three(size)} ${units[i]}`;
  }

  const milliseconds = (seconds) => `${three(1e3 * seconds)} ms`;

  // ---- the table

  function cell(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function table(place, data, state, found) {
    const names = Object.keys(found), results = Object.values(found);
    const over = (result) => (state.batch > result.fits ? "✗ does not fit" : "✓ fits");
    const passes = (truth) => (truth ? "✓" : "✗");
    const rows = [
      ["One sequence keeps", (r) => bytes(sum(Object.values(r.stored)))],
      ["Sequences that fit", (r) => three(r.fits)],
      [`${state.batch} at once`, over],
      ["Step, at least", (r) => `${milliseconds(r.lower)} ${passes(r.lower <= state.tpot)}`],
      ["Step, at most", (r) => milliseconds(r.upper)],
      ["Waits for", (r) => TIMES[r.bound]],
      ["Tokens a second, all chips, at least", (r) => three(r.rate)],
      ["Dollars a million tokens", (r) => (state.rent ? `${three(r.dollars[0])} to ${three(r.dollars[1])} ${passes(r.dollars[0] <= state.price)}` : "no rent given")],
      ["Context until memory is full", (r) => tokens(r.ceilings.memory, data)],
      ["Context within the time target", (r) => tokens(r.ceilings.tpot, data)],
      ["Context within the price target", (r) => (state.rent ? tokens(r.ceilings.price, data) : "no rent given")],
    ];
    const caption = cell("caption", "One decode step, by formula: lib.cost. At least: everything overlaps; at most: nothing does.");
    const head = document.createElement("thead"), body = document.createElement("tbody"), line = document.createElement("tr");
    line.append(cell("th", "", { scope: "col" }), ...names.map((name) => cell("th", data.models[name].title, { scope: "col" })));
    head.append(line);
    for (const [label, value] of rows) {
      const row = document.createElement("tr");
      row.append(cell("th", label, { scope: "row" }), ...results.map((result) => cell("td", value(result), { class: "number" })));
      body.append(row);
    }
    place.replaceChildren(caption, head, body);
  }

  // ---- charts

  function draw(tag, attributes, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function canvas(place, height, label) {
    const width = Math.max(place.clientWidth, 280);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", height, role: "img", "aria-label": label });
    place.replaceChildren(svg);
    return [svg, width];
  }

  // stacked bars, one a model: segments [[key, value], …]
  function bars(place, title, rows, text, words) {
    const label = rows.map((row) => `${row.title}: ${row.segments.map(([key, value]) => `${words[key]} ${text(value)}`).join(", ")}`).join(". ");
    const [svg, width] = canvas(place, rows.length * 54 + (place.clientWidth < 460 ? 48 : 28), `${title}. ${label}`);
    const most = Math.max(...rows.map((row) => sum(row.segments.map((segment) => segment[1]))), Number.MIN_VALUE);
    rows.forEach((row, i) => {
      const y = i * 54, total = sum(row.segments.map((segment) => segment[1]));
      svg.append(draw("text", { x: 0, y: y + 14, class: "calc-label" }, `${row.title}: ${row.note || text(total)}`));
      let x = 0;
      for (const [key, value] of row.segments) {
        const size = (value / most) * width;
        const bar = draw("rect", { x, y: y + 20, width: Math.max(size, value ? 1 : 0), height: 20, class: `calc-${key}` });
        bar.append(draw("title", {}, `${words[key]}: ${text(value)}`));
        svg.append(bar);
        x += size;
      }
    });
    const seen = Object.keys(words).filter((key) => rows.some((row) => row.segments.some(([part, value]) => part === key && value > 0)));
    let x = 0, y = rows.length * 54 + 6;
    for (const key of seen) {
      const size = 32 + words[key].length * 6.6;
      if (x && x + size > width) { x = 0; y += 20; }
      svg.append(draw("rect", { x, y, width: 12, height: 12, class: `calc-${key}` }));
      svg.append(draw("text", { x: x + 17, y: y + 10, class: "calc-key" }, words[key]));
      x += size;
    }
  }

  function lines(place, data, state, names, title) {
    const series = names.map((name) => {
      const cost = evaluator(data, state, name);
      return { title: data.models[name].title, values: data.contexts.map((context) => [context, cost.step(context).lower, cost.fits(context) >= state.batch]) };
    });
    const label = series.map((one) => `${one.title}: ${milliseconds(one.values[0][1])} at ${tokens(one.values[0][0])}, ${milliseconds(one.values.at(-1)[1])} at ${tokens(one.values.at(-1)[0])}`).join(". ");
    const height = 300, left = 58, bottom = 34, top = 12;
    const [svg, width] = canvas(place, height, `${title}. ${label}`);
    const all = series.flatMap((one) => one.values.map((value) => value[1])).concat(state.tpot || []);
    const [low, high] = [Math.log10(Math.min(...all)) - 0.1, Math.log10(Math.max(...all)) + 0.1];
    const [first, final] = [Math.log2(data.contexts[0]), Math.log2(data.contexts.at(-1))];
    const x = (context) => left + ((Math.log2(context) - first) / (final - first)) * (width - left - 12);
    const y = (seconds) => top + ((high - Math.log10(seconds)) / (high - low)) * (height - top - bottom);
    for (let power = Math.ceil(low); power <= high; power += 1) {
      svg.append(draw("line", { x1: left, x2: width - 12, y1: y(10 ** power), y2: y(10 ** power), class: "calc-rule" }));
      svg.append(draw("text", { x: left - 6, y: y(10 ** power) + 4, "text-anchor": "end", class: "calc-key" }, milliseconds(10 ** power)));
    }
    for (let power = first; power <= final; power += 2) {
      svg.append(draw("text", { x: x(2 ** power), y: height - 14, "text-anchor": "middle", class: "calc-key" }, tokens(2 ** power)));
    }
    if (state.tpot) svg.append(draw("line", { x1: left, x2: width - 12, y1: y(state.tpot), y2: y(state.tpot), class: "calc-target" }));
    svg.append(draw("line", { x1: x(state.context), x2: x(state.context), y1: top, y2: height - bottom, class: "calc-here" }));
    series.forEach((one, i) => {
      const path = (values) => values.map(([context, seconds], j) => `${j ? "L" : "M"}${x(context).toFixed(1)} ${y(seconds).toFixed(1)}`).join("");
      const inside = one.values.filter((value) => value[2]);
      svg.append(draw("path", { d: path(one.values), class: `calc-line calc-model${i} calc-beyond` }));
      if (inside.length) svg.append(draw("path", { d: path(inside), class: `calc-line calc-model${i}` }));
      svg.append(draw("rect", { x: left + 10, y: top + 4 + i * 18, width: 14, height: 3, class: `calc-swatch${i}` }));
      svg.append(draw("text", { x: left + 30, y: top + 10 + i * 18, class: "calc-key" }, one.title));
    });
  }

  // ---- the page

  function start(root) {
    const data = JSON.parse(root.querySelector(".calc-data").textContent);
    const form = root.querySelector("form"), fields = form.elements;
    const chart = (name) => root.querySelector(`[data-chart="${name}"]`);

    function read() {
      const number = (name) => Math.max(Number(fields[name].value) || 0, 0);
      return {
        models: [...new Set(["model0", "model1", "model2"].map((name) => fields[name].value).filter(Boolean))],
        context: data.contexts[Number(fields.context.value)], batch: Number(fields.batch.value), chip: fields.chip.value,
        count: Number(fields.count.value), split: fields.split.value, cached: fields.cached.value,
        rent: number("rent"), tpot: number("tpot") / 1e3, price: number("price"),
      };
    }

    function update() {
      const began = performance.now();
      const state = read();
      const found = Object.fromEntries(state.models.map((name) => [name, evaluate(data, state, name)]));
      const titles = (name) => data.models[name].title;
      root.querySelector("output").textContent = tokens(state.context);
      fields.context.setAttribute("aria-valuetext", `${tokens(state.context)} tokens`);
      table(root.querySelector("table"), data, state, found);
      const fastest = state.models.reduce((a, b) => (found[b].lower < found[a].lower ? b : a));
      const leanest = state.models.reduce((a, b) => (sum(Object.values(found[b].stored)) < sum(Object.values(found[a].stored)) ? b : a));
      const heads = {
        bytes: `At ${tokens(state.context)} tokens ${titles(leanest)} keeps least for a sequence`,
        times: `${titles(fastest)} has the shortest step with ${state.batch} at once; each part alone takes`,
        lines: "The step's lower bound over the context; thin where the sequences no longer fit",
      };
      for (const [name, text] of Object.entries(heads)) root.querySelector(`#calc-${name}-title`).textContent = text;
      bars(chart("bytes"), heads.bytes, state.models.map((name) => ({ title: titles(name), segments: Object.entries(found[name].stored) })), bytes, PARTS);
      bars(chart("times"), heads.times, state.models.map((name) => ({
        title: titles(name), segments: Object.entries(found[name].times), note: `${milliseconds(found[name].lower)} to ${milliseconds(found[name].upper)}`,
      })), milliseconds, TIMES);
      lines(chart("lines"), data, state, state.models, heads.lines);
      const unfit = state.models.filter((name) => state.batch > found[name].fits).map(titles);
      root.querySelector(".calc-status").textContent = unfit.length ? `${unfit.join(", ")}: ${state.batch} sequences of ${tokens(state.context)} do not fit on these chips.` : "";
      root.dataset.took = (performance.now() - began).toFixed(1);
    }

    const controls = [...fields].filter((field) => field.name);
    function remember() {
      const query = new URLSearchParams(controls.map((field) => [field.name, field.value])).toString();
      history.replaceState(null, "", `#${query}`);
    }
    function recall() {
      const query = new URLSearchParams(location.hash.slice(1));
      for (const field of controls) {
        if (!query.has(field.name)) continue;
        const before = field.value;
        field.value = query.get(field.name);
        if (field.value !== query.get(field.name) && field.tagName === "SELECT") field.value = before; // a link to what there is no more
      }
      update();
    }
    const rent = () => { fields.rent.value = data.chips[fields.chip.value].rent ?? ""; };
    form.addEventListener("input", (event) => { if (event.target === fields.chip) rent(); update(); remember(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", recall);
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) > 1) { width = entry.contentRect.width; update(); }
    }).observe(root);
    root.querySelector(".calc-copy").addEventListener("click", async (event) => {
      remember();
      try { await navigator.clipboard.writeText(location.href); event.target.textContent = "Copied"; }
      catch { event.target.textContent = "The link is in the address bar"; }
    });
    rent();
    root.hidden = false;
    recall();
    window.bookCalculator = { data, read, evaluate: (state, name) => evaluate(data, state, name) };
  }

  window.bookCalculate = evaluate; // for tests
  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".calculator").forEach(start));
})();
