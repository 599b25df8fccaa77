// Builds and changes the page. Texts go in as text nodes only, so nothing that the gateway sends is parsed as HTML, and
// without characters that would change how the texts beside them are shown.

import { clip, count, visible } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

/// The most items that a list shows: nobody reads more, and a browser needs seconds to lay out thousands.
export const MOST_ROWS = 200;
const [LONGEST_CELL, LONGEST_HINT] = [500, 2_000]; // characters
const SHOWN_ATTRIBUTES = new Set(["title", "aria-label", "label"]); // others are not shown as texts

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
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => child instanceof Node ? child : visible(String(child), hasLines(node))));
  return node;
}

export function setAttribute(node, name, value) {
  const given = value === false || value === null || value === undefined ? null : value === true ? "" : String(value);
  const text = given !== null && SHOWN_ATTRIBUTES.has(name) ? visible(given, true) : given;
  if (node.getAttribute(name) === text) return;
  if (text === null) node.removeAttribute(name);
  else node.setAttribute(name, text);
}

/// Sets an element's text, and touches the document only if it differs.
export function setText(node, text) {
  const shown = visible(String(text), hasLines(node));
  if (node.textContent !== shown) node.textContent = shown;
}

/// Sets texts of different origin side by side, each in an element of its own: none can change how another is shown.
export function setTexts(node, texts) {
  if (node.childElementCount !== texts.length) {
    node.replaceChildren(...texts.flatMap((_, index) => index === 0 ? [element("bdi")] : [": ", element("bdi")]));
  }
  for (const [index, text] of texts.entries()) setText(node.children[index], text);
}

const hasLines = (node) => node.localName === "pre";

/// A label and its field, for toolbars.
export function field(label, control) {
  return element("label", { class: "field" }, element("span", {}, label), control);
}

/// Lets a parent have one child per item, in the items' order, for the first `MOST_ROWS` items. Children of items with the
/// same key are kept.
export class List {
  #rows = new Map();
  #items = new Map();

  /// `create(item)` returns `{node, update(item)}`.
  constructor(parent, keyOf, create) {
    Object.assign(this, { parent, keyOf, create });
  }

  show(items) {
    this.#items = new Map(items.slice(0, MOST_ROWS).map((item) => [this.keyOf(item), item]));
    for (const [key, row] of this.#rows) if (!this.#items.has(key)) row.node.remove();
    let next = this.parent.firstChild;
    const rows = new Map();
    for (const [key, item] of this.#items) {
      const row = this.#rows.get(key) ?? this.create(item);
      rows.set(key, row);
      row.update(item);
      if (row.node === next) next = next.nextSibling;
      else this.#place(row.node, next);
    }
    this.#rows = rows;
  }

  /// Shows the same items again: their ages have changed.
  refresh() {
    for (const [key, item] of this.#items) this.#rows.get(key).update(item);
  }

  /// A move in one step keeps the focus, where the browser has it.
  #place(node, next) {
    if (node.isConnected && this.parent.moveBefore) this.parent.moveBefore(node, next);
    else this.parent.insertBefore(node, next);
  }
}

/// A table. A column has a `title` and `text(item)`, or `texts(item)` if there are several of different origin, and may have `mark(item)` (a class), `hint(item)`, `link(item)`
/// or `act(item)` (makes the text a button), `isNumber`, and `isOptional` (it is hidden while all its texts are empty). On
/// narrow screens each row is a card, with the titles beside the texts. Above `MOST_ROWS` items, a note tells how many
/// there are.
export class Table {
  constructor(caption, columns, keyOf, empty = "None") {
    const body = element("tbody");
    this.list = new List(body, keyOf, () => new Row(columns));
    this.columns = columns;
    this.empty = element("p", { class: "empty" }, empty);
    this.rest = element("p", { class: "note", hidden: true });
    this.table = element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, columns.map((column) =>
        element("th", { scope: "col", class: column.isNumber && "number" }, column.title)))),
      body);
    this.element = element("div", { class: "table" }, this.table, this.empty, this.rest);
  }

  show(items) {
    const shown = items.slice(0, MOST_ROWS);
    for (const [index, column] of this.columns.entries()) {
      column.isHidden = Boolean(column.isOptional) && shown.every((item) => column.text(item) === "");
      this.table.tHead.rows[0].cells[index].hidden = column.isHidden;
    }
    this.list.show(shown);
    this.table.tHead.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
    this.rest.hidden = items.length === shown.length;
    setText(this.rest, `${count(shown.length)} of ${count(items.length)}`);
  }

  refresh() {
    this.list.refresh();
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
    const texts = column.texts?.(item).map((text) => clip(String(text), LONGEST_CELL));
    const text = texts?.join(": ") ?? clip(String(column.text(item)), LONGEST_CELL);
    if (texts) setTexts(this.text, texts);
    else setText(this.text, text);
    this.node.hidden = column.isHidden;
    if (column.link) setAttribute(this.text, "href", column.link(item));
    const hint = column.hint?.(item);
    setAttribute(this.node, "title", typeof hint === "string" ? clip(hint, LONGEST_HINT) : hint);
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
