// Output of a notebook that has a style of its own is shown in a shadow root: neither style touches the other.
if (!customElements.get("ragnb-view")) {
  customElements.define("ragnb-view", class extends HTMLElement {
    connectedCallback() {
      if (!this.shadowRoot) this.attachShadow({ mode: "open" }).innerHTML = this.dataset.html;
    }
  });
}

// mermaid and KaTeX lie beside this file, and are loaded by the pages that need them.
const vendor = new URL("../vendor/", document.currentScript.src);

function script(path) {
  return new Promise((done, failed) => {
    const node = document.createElement("script");
    Object.assign(node, { src: new URL(path, vendor).href, onload: done, onerror: failed });
    document.head.append(node);
  });
}

async function math() {
  if (!document.querySelector(".arithmatex")) return;
  await script("katex/katex.min.js");
  await script("katex/auto-render.min.js");
  document.querySelectorAll(".arithmatex").forEach(node => renderMathInElement(node, {
    delimiters: [{ left: "\\[", right: "\\]", display: true }, { left: "\\(", right: "\\)", display: false }],
    throwOnError: false,
  }));
}

// Diagrams: at their natural size, shrunk by a quarter at most. One that runs from left to right and is wider than the page
// is drawn from top to bottom instead, where that is narrower; what is still too wide scrolls.
let drawn = 0;
async function picture(source) {
  const { svg } = await mermaid.render(`diagram-${drawn++}`, source);
  const node = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  return [node, node.viewBox.baseVal.width];
}

async function diagram(box) {
  let [node, width] = await picture(box.dataset.source);
  const across = /^(\s*(?:flowchart|graph)\s+)LR\b/, room = box.clientWidth;
  if (width / 1.35 > room && across.test(box.dataset.source)) {
    const [tall, narrow] = await picture(box.dataset.source.replace(across, "$1TD"));
    if (narrow < width) [node, width] = [tall, narrow];
  }
  node.style.width = `${Math.max(Math.min(width, room), width / 1.35)}px`;
  box.replaceChildren(node);
}

async function diagrams() {
  if (!document.querySelector(".diagram")) return;
  if (!window.mermaid) await script("mermaid.min.js");
  const dark = document.body.getAttribute("data-md-color-scheme") === "slate";
  mermaid.initialize({
    startOnLoad: false, securityLevel: "strict", theme: dark ? "dark" : "neutral",
    fontFamily: getComputedStyle(document.body).fontFamily,
    flowchart: { useMaxWidth: false, wrappingWidth: 280 }, sequence: { useMaxWidth: false }, state: { useMaxWidth: false },
  });
  for (const node of document.querySelectorAll("pre.diagram")) {
    const box = document.createElement("div");
    box.className = "diagram";
    box.tabIndex = 0;
    box.dataset.source = node.textContent;
    node.replaceWith(box);
  }
  for (const box of document.querySelectorAll("div.diagram")) await diagram(box);
}

// A table of long texts is stacked on narrow screens (extra.css): its cells carry the title of their column.
function labels() {
  document.querySelectorAll(".md-typeset table:not([class])").forEach(table => {
    const titles = [...table.querySelectorAll("thead th")].map(th => th.textContent.trim());
    const cells = [...table.querySelectorAll("tbody td")];
    const long = titles.length > 2 && cells.some(cell => cell.textContent.length > 40);
    if (!long && !table.closest(".params")) return;
    table.dataset.stack = "";
    cells.forEach(cell => cell.dataset.title = cell.textContent.trim() ? titles[cell.cellIndex] || " " : "");
  });
}

// The index has Korean words in parts, and particles apart (tools/docs/words.py).
// A word that is asked for is cut into the same parts, and its particle is left out.
const parts = new Set();

function remember(items) {
  for (const item of items)
    for (const word of (item.title + " " + item.text).match(/[가-힣]*[\u200b\u200c][가-힣\u200b\u200c]*/g) || [])
      for (const part of word.replace(/\u200c[가-힣]+/g, "").split("\u200b")) if (part.length > 1) parts.add(part);
}

function cut(word) {
  const best = [[]];                       // best[i]: the fewest parts that make up the first i letters
  for (let end = 1; end <= word.length; end++)
    for (let start = 0; start < end; start++)
      if (best[start] && parts.has(word.slice(start, end)) && (!best[end] || best[end].length > best[start].length + 1))
        best[end] = [...best[start], word.slice(start, end)];
  for (let end = word.length; end >= word.length - 3 && end > 1; end--)   // an ending that no part has is left out
    if (best[end]) return best[end].join(" ");
  return word;
}

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.type === 0 && message.data?.items) remember(message.data.items);
  if (message?.type === 2 && typeof message.data?.input === "string")
    message = { ...message, data: { ...message.data, input: message.data.input.replace(/[가-힣]{3,}/g, cut) } };
  return post.call(this, message, ...rest);
};

// The generator writes the words around a page in English only. Korean readers and Korean pages get them in Korean.
const KOREAN = {
  "On this page": "이 페이지", "Previous": "이전", "Next": "다음", "Back to top": "맨 위로",
  "Search": "검색", "Search results": "검색 결과", "No results": "결과가 없습니다", "Close search": "검색 닫기",
  "Loading search…": "검색을 준비하고 있습니다…", "Filters": "거르기", "Tags": "태그",
  "Search is unavailable. Reload the page to try again.": "지금은 검색할 수 없습니다. 페이지를 다시 불러오세요.",
};

function korean(text) {
  const word = text.trim(), count = word.match(/^([\d,]+) results?$/);
  return KOREAN[word] ? text.replace(word, KOREAN[word]) : count ? `결과 ${count[1]}개` : text;
}

function translate(root) {
  for (const node of root.querySelectorAll("[placeholder], [aria-label]"))
    for (const name of ["placeholder", "aria-label"]) {
      const told = node.getAttribute(name);
      if (told && korean(told) !== told) node.setAttribute(name, korean(told));
    }
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, node =>   // not what is found, only what is said of it
    node.parentElement?.closest("[role=option], style") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  while (texts.nextNode()) {
    const node = texts.currentNode, told = korean(node.data);
    if (told !== node.data) node.data = told;
  }
}

function search() {
  if (document.documentElement.lang !== "ko" && !navigator.language.startsWith("ko")) return;
  const seen = new Set();
  function look() {
    const places = document.querySelectorAll(".md-header, .md-nav--secondary, .md-top, .md-footer");
    for (const root of [...places, ...[...document.body.children].map(n => n.shadowRoot)]) {
      if (!root || seen.has(root)) continue;
      seen.add(root);
      translate(root);
      const watched = { subtree: true, childList: true, characterData: true, attributeFilter: ["placeholder", "aria-label"] };
      new MutationObserver(() => translate(root)).observe(root, watched);
    }
  }
  look();
  new MutationObserver(look).observe(document.body, { childList: true });
}

async function ready() {
  labels();
  search();
  await math();
  await diagrams();
  document.documentElement.dataset.ready = "";      // for tests
  new MutationObserver(diagrams).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready); else ready();
