// Builds and changes the page. Texts go in as text nodes only, so nothing that the gateway sends is parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/// Makes an element. A function is a listener of that event; false, null and undefined leave an attribute out.
export function element(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else setAttribute(node, name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function setAttribute(node, name, value) {
  const text = value === false || value === null || value === undefined ? null : value === true ? "" : String(value);
  if (node.getAttribute(name) === text) return;
  if (text === null) node.removeAttribute(name);
  else node.setAttribute(name, text);
}

/// Sets an element's text, and touches the document only if it differs.
export function setText(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

/// A label and its field, for toolbars.
export function field(label, control) {
  return element("label", { class: "field" }, element("span", {}, label), control);
}

/// Lets a parent have one child per item, in the items' order. Children of items with the same key are kept.
export class List {
  #rows = new Map();

  /// `create(item)` returns `{node, update(item)}`.
  constructor(parent, keyOf, create) {
    Object.assign(this, { parent, keyOf, create });
  }

  show(items) {
    const rows = new Map(items.map((item) => [this.keyOf(item), item]));
    for (const [key, row] of this.#rows) if (!rows.has(key)) row.node.remove();
    let next = this.parent.firstChild;
    for (const [key, item] of rows) {
      const row = this.#rows.get(key) ?? this.create(item);
      rows.set(key, row);
      row.update(item);
      if (row.node === next) next = next.nextSibling;
      else this.#place(row.node, next);
    }
    this.#rows = rows;
  }

  /// A move in one step keeps the focus, where the browser has it.
  #place(node, next) {
    if (node.isConnected && this.parent.moveBefore) this.parent.moveBefore(node, next);
    else this.parent.insertBefore(node, next);
  }
}

/// A table. A column has a `title` and `text(item)`, and may have `mark(item)` (a class), `hint(item)`, `link(item)`
/// or `act(item)` (makes the text a button), `isNumber`, and `isOptional` (it is hidden while all its texts are empty). On
/// narrow screens each row is a card, with the titles beside the texts.
export class Table {
  constructor(caption, columns, keyOf, empty = "None") {
    const body = element("tbody");
    this.list = new List(body, keyOf, () => new Row(columns));
    this.columns = columns;
    this.empty = element("p", { class: "empty" }, empty);
    this.table = element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, columns.map((column) =>
        element("th", { scope: "col", class: column.isNumber && "number" }, column.title)))),
      body);
    this.element = element("div", { class: "table" }, this.table, this.empty);
  }

  show(items) {
    for (const [index, column] of this.columns.entries()) {
      column.isHidden = Boolean(column.isOptional) && items.every((item) => column.text(item) === "");
      this.table.tHead.rows[0].cells[index].hidden = column.isHidden;
    }
    this.list.show(items);
    this.table.tHead.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
  }
}

class Row {
  constructor(columns) {
    this.cells = columns.map((column, index) => new Cell(column, index === 0));
    this.node = element("tr", {}, this.cells.map((cell) => cell.node));
  }

  update(item) {
    for (const cell of this.cells) cell.update(item);
  }
}

class Cell {
  constructor(column, isFirst) {
    this.column = column;
    this.text = column.link ? element("a") : column.act
      ? element("button", { type: "button", class: "plain", click: () => column.act(this.item) }) : element("span");
    this.node = element(isFirst ? "th" : "td", { scope: isFirst && "row", "data-title": column.title }, this.text);
  }

  update(item) {
    this.item = item;
    const { column } = this;
    const text = column.text(item);
    setText(this.text, text);
    this.node.hidden = column.isHidden;
    if (column.link) setAttribute(this.text, "href", column.link(item));
    setAttribute(this.node, "title", column.hint?.(item));
    setAttribute(this.node, "class",
      [column.isNumber && "number", column.mark?.(item), text === "" && "none"].filter(Boolean).join(" ") || null);
  }
}

/// Runs a task at once and then again and again, some time after it has ended, until it is stopped.
export class Poll {
  #timer = null;
  #round = 0;

  constructor(milliseconds, task) {
    Object.assign(this, { milliseconds, task });
  }

  async start() {
    this.stop();
    const round = this.#round;
    await this.task();
    if (round === this.#round) this.#timer = setTimeout(() => this.start(), this.milliseconds);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#round += 1;
  }
}
