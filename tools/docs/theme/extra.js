// Output of a notebook that has a style of its own is shown in a shadow root: neither style touches the other.
if (!customElements.get("ragnb-view")) {
  customElements.define("ragnb-view", class extends HTMLElement {
    connectedCallback() {
      if (!this.shadowRoot) this.attachShadow({ mode: "open" }).innerHTML = this.dataset.html;
    }
  });
}

function math() {
  if (!window.renderMathInElement) return;
  document.querySelectorAll(".arithmatex").forEach(node => renderMathInElement(node, {
    delimiters: [{ left: "\\[", right: "\\]", display: true }, { left: "\\(", right: "\\)", display: false }],
    throwOnError: false,
  }));
}

// Cells of a stacked table (narrow screens) carry the title of their column.
function labels() {
  document.querySelectorAll(".params table").forEach(table => {
    const titles = [...table.querySelectorAll("thead th")].map(th => th.textContent.trim());
    table.querySelectorAll("tbody tr").forEach(row =>
      [...row.children].forEach((cell, i) => cell.dataset.title = cell.textContent.trim() ? titles[i] : ""));
  });
}

function ready() { math(); labels(); }
if (window.document$) document$.subscribe(ready); else document.addEventListener("DOMContentLoaded", ready);
