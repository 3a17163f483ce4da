"use strict";
(() => {
  const PAGE = 25;
  const STATES = ["ok", "unparsed", "refused", "filtered", "truncated", "empty", "error"];
  const data = JSON.parse(document.getElementById("run-data").textContent);
  const names = data.names;
  const byId = (id) => document.getElementById(id);

  // Texts go in as text nodes and nothing else; markup in them stays text.
  function make(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    for (const child of children) {
      if (child === null || child === undefined) continue;
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
  }

  function nameOf(number) {
    return make("bdi", "", names[number]);
  }

  function said(text) {
    const node = make("div", "said", text === "" ? "(empty)" : text);
    node.dir = "auto";
    return node;
  }

  function stateChip(state) {
    return make("span", "chip " + (state === "ok" ? "good" : "bad"), state);
  }

  function table(caption, heads, rows) {
    const node = make("table", "", make("caption", "", caption));
    const head = make("tr");
    for (const text of heads) {
      const cell = make("th", "", text);
      cell.scope = "col";
      head.append(cell);
    }
    node.append(make("thead", "", head));
    const body = make("tbody");
    for (const cells of rows) body.append(make("tr", "", ...cells.map((c) => make("td", "", c))));
    node.append(body);
    const scroll = make("div", "scroll", node);
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", caption);
    return scroll;
  }

  function why(state, reason, reply) {
    const node = make("span", "", stateChip(state));
    if (reason) node.append(" ", make("small", "", reason));
    if (reply !== null && reply !== undefined) node.append(said(reply));
    return node;
  }

  function listOf(nodes, separator) {
    const whole = make("span");
    nodes.forEach((node, place) => whole.append(place ? separator : "", node));
    return whole;
  }

  // Calls are laid out in exchanges.py: lines and messages are numbers in lists of their own.
  const texts = data.exchanges || { lines: [], messages: [], calls: [] };
  const textOf = (lines) => lines.map((number) => texts.lines[number]).join("\n");

  function part(head, lines) {
    return lines === null ? null : make("div", "turn", make("h5", "", head), said(textOf(lines)));
  }

  function callNode([key, agent, messages, state, reply, thinking, scored, reason]) {
    const head = make("p", "basis", make("code", "", key), " ", make("bdi", "", agent), " ", stateChip(state));
    if (reason) head.append(" ", reason);
    const turns = messages.map((number) => part("prompt, " + texts.messages[number][0], texts.messages[number][1]));
    const rest = [part("text that was scored", scored), part("thinking", thinking), part("raw reply", reply)];
    return make("div", "call", head, ...turns, ...rest);
  }

  // The prompts and replies behind a record, and the command that shows them with all the rest.
  function behind(question, kind, place, parts) {
    const id = parts.join("/").replaceAll("'", "'\\''");
    const calls = question.calls ? question.calls[kind][place] : [];
    const title = calls.length ? "prompt and reply" : "how to see it";
    const node = make("details", "behind", make("summary", "", title));
    whenOpened(node, () => [
      make("p", "basis", make("code", "", `peerexam show . '${id}'`)),
      ...calls.map((number) => callNode(texts.calls[number])),
    ]);
    return node;
  }

  // Rows are laid out in browse.py.
  function marksOf(question, examinee) {
    const rows = question.marks
      .map((row, place) => [place, row])
      .filter(([, row]) => row[0] === examinee);
    if (!rows.length) return null;
    const dimensions = [...new Set(rows.flatMap(([, row]) => Object.keys(row[4] || {})))];
    return table(
      "Marks",
      ["Judge", "Overall", ...dimensions, "State", "Source"],
      rows.map(([place, [of, judge, state, overall, scores, reason, reply]]) => [
        judge === of ? make("span", "", nameOf(judge), " (itself)") : nameOf(judge),
        overall === null || overall === undefined ? "–" : overall,
        ...dimensions.map((name) => (scores && name in scores ? scores[name] : "–")),
        why(state, reason, reply),
        behind(question, 2, place, [question.id, names[of], names[judge]]),
      ]),
    );
  }

  function answersOf(question) {
    return question.answers.map(([examinee, state, text, reason], place) => {
      const title = make("h4", "", nameOf(examinee), " ", state === "ok" ? null : stateChip(state));
      const reasonNote = reason ? make("p", "basis", reason) : null;
      const call = behind(question, 1, place, [question.id, names[examinee]]);
      return make("div", "answer", title, reasonNote, said(text), call, marksOf(question, examinee));
    });
  }

  function rankingsOf(question) {
    if (!question.rankings.length) return null;
    return table(
      "Rankings, best first; tied agents are joined by =",
      ["Judge", "Order", "Unranked"],
      question.rankings.map(([judge, order, unranked]) => [
        nameOf(judge),
        listOf(order.map((group) => listOf(group.map(nameOf), " = ")), " > "),
        unranked && unranked.length ? listOf(unranked.map(nameOf), ", ") : "–",
      ]),
    );
  }

  function verdictsOf(question) {
    if (!question.verdicts.length) return null;
    const node = make("details", "", make("summary", "", `Verdicts (${question.verdicts.length})`));
    whenOpened(node, () => [
      table(
        "Verdicts, one row an order",
        ["Judge", "Shown first", "Shown second", "Winner", "State", "Source"],
        question.verdicts.map(([judge, first, second, state, winner, reason, reply], place) => [
          judge === first || judge === second
            ? make("span", "", nameOf(judge), make("small", "", "on its own answer, no vote"))
            : nameOf(judge),
          nameOf(first),
          nameOf(second),
          winner === null || winner === undefined ? "–" : [nameOf(first), nameOf(second), "tie"][winner],
          why(state, reason, reply),
          behind(question, 3, place, [question.id, names[first], names[second], names[judge]]),
        ]),
      ),
    ]);
    return node;
  }

  function whenOpened(details, build) {
    details.addEventListener("toggle", () => {
      if (details.open && !details.dataset.built) {
        details.dataset.built = "yes";
        details.append(...build().filter((node) => node !== null));
      }
    });
  }

  function facts(question) {
    const parts = [question.path ? question.path.join(" › ") : question.domain];
    parts.push(question.author === undefined ? "the user's own" : "written by " + names[question.author]);
    if (question.group !== "own") parts.push(question.group);
    if (question.level) parts.push(question.level);
    if (question.round > 1) parts.push(`round ${question.round}, after ${question.parent_id}`);
    if (question.asked !== undefined) parts.push("asked of " + names[question.asked] + " only");
    parts.push(question.id);
    return parts.join(" · ");
  }

  function questionNode(question) {
    const gist = make("span", "gist", question.text);
    gist.dir = "auto";
    const small = make("small", "", facts(question));
    small.dir = "auto";
    const node = make("details", "question", make("summary", "", gist, small));
    whenOpened(node, () => [
      behind(question, 0, 0, [question.id]),
      make("div", "inside", ...answersOf(question), rankingsOf(question), verdictsOf(question)),
    ]);
    return node;
  }

  const haystacks = new Map();
  function haystack(question) {
    if (!haystacks.has(question)) {
      const replies = [...question.marks, ...question.verdicts].flatMap((row) => [row[5], row[6]]);
      const texts = [question.id, question.text, ...question.answers.map((row) => row[2]), ...replies];
      haystacks.set(question, texts.filter((text) => text).join("\n").toLowerCase());
    }
    return haystacks.get(question);
  }

  // One record must match agent and state together: "refused" and "A" asks for A's refusals.
  function involves(question, agent, state) {
    const fits = (who, is) =>
      (agent === null || who.includes(agent)) && (state === "" || is === state);
    return (
      question.answers.some((row) => fits([row[0]], row[1])) ||
      question.marks.some((row) => fits([row[0], row[1]], row[2])) ||
      question.verdicts.some((row) => fits([row[0], row[1], row[2]], row[3]))
    );
  }

  function wanted() {
    const author = byId("f-author").value;
    const agent = byId("f-agent").value;
    const domain = byId("f-domain").value;
    const state = byId("f-state").value;
    const text = byId("f-text").value.trim().toLowerCase();
    return data.questions.filter(
      (question) =>
        (domain === "" || question.domain === domains[Number(domain)]) &&
        (author === "" || (question.author === undefined ? "own" : String(question.author)) === author) &&
        ((agent === "" && state === "") || involves(question, agent === "" ? null : Number(agent), state)) &&
        (text === "" || haystack(question).includes(text)),
    );
  }

  let found = [];
  let drawn = 0;
  function drawMore() {
    const next = found.slice(drawn, drawn + PAGE);
    byId("list").append(...next.map(questionNode));
    drawn += next.length;
    byId("more").hidden = drawn >= found.length;
  }

  function redraw() {
    found = wanted();
    drawn = 0;
    byId("list").replaceChildren();
    byId("found").textContent = `${found.length} of ${data.questions.length} questions`;
    drawMore();
  }

  function offer(id, values, labels) {
    values.forEach((value, place) => {
      const option = make("option", "", labels[place]);
      option.value = value;
      byId(id).append(option);
    });
  }

  const domains = [...new Set(data.questions.map((question) => question.domain))].sort();
  const authors = [...new Set(data.questions.map((question) => question.author))];
  const taking = new Set(
    data.questions.flatMap((question) => [
      ...question.answers.map((row) => row[0]),
      ...question.marks.map((row) => row[1]),
      ...question.verdicts.map((row) => row[0]),
    ]),
  );
  const agents = names.map((_, number) => number).filter((number) => taking.has(number));
  const numbered = authors.filter((author) => author !== undefined);
  const hasOwn = numbered.length < authors.length;
  offer("f-domain", domains.map((_, place) => place), domains);
  offer("f-author", [...numbered, ...(hasOwn ? ["own"] : [])],
    [...numbered.map((number) => names[number]), ...(hasOwn ? ["the user"] : [])]);
  offer("f-agent", agents, agents.map((number) => names[number]));
  offer("f-state", STATES, STATES);

  let waiting = 0;
  byId("f-text").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 150);
  });
  for (const id of ["f-domain", "f-author", "f-agent", "f-state"]) byId(id).addEventListener("change", redraw);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => setTimeout(redraw, 0));
  byId("more").addEventListener("click", drawMore);
  byId("browser").hidden = false;
  redraw();
})();
