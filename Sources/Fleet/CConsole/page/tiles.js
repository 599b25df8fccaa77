// The tiles of an operator's tile server, below the map.

const [DEEPEST, KEPT] = [19, 256];

export class Tiles {
  #tiles = new Map(); // images by z/x/y, the last used at the end; null if one could not be loaded

  constructor(template, onLoad) {
    Object.assign(this, { template, onLoad });
  }

  /// Draws the tiles around a point of the world, or a part of a larger tile while one is not loaded.
  draw(context, center, zoom, width, height) {
    const level = Math.max(0, Math.min(DEEPEST, Math.round(zoom))), number = 2 ** level;
    const size = 256 * 2 ** (zoom - level);
    const [left, top] = [center.x * number - width / 2 / size, center.y * number - height / 2 / size];
    for (let y = Math.max(0, Math.floor(top)); y < Math.min(number, top + height / size); y += 1) {
      for (let x = Math.max(0, Math.floor(left)); x < Math.min(number, left + width / size); x += 1) {
        this.#drawTile(context, level, x, y, (x - left) * size, (y - top) * size, size);
      }
    }
    while (this.#tiles.size > KEPT) this.#tiles.delete(this.#tiles.keys().next().value);
  }

  #drawTile(context, level, x, y, left, top, size) {
    this.#request(level, x, y);
    for (let up = 0; up <= Math.min(level, 4); up += 1) {
      const image = this.#tiles.get(`${level - up}/${x >> up}/${y >> up}`);
      if (!image?.complete) continue;
      const side = image.naturalWidth / 2 ** up, mask = 2 ** up - 1;
      context.drawImage(image, (x & mask) * side, (y & mask) * side, side, side, left, top, size + 0.5, size + 0.5);
      return;
    }
  }

  #request(level, x, y) {
    const key = `${level}/${x}/${y}`;
    let image = this.#tiles.get(key);
    if (image === undefined) {
      image = new Image();
      image.referrerPolicy = "no-referrer";
      image.onload = this.onLoad;
      image.onerror = () => this.#tiles.set(key, null);
      image.src = this.template.replace("{z}", level).replace("{x}", x).replace("{y}", y);
    }
    this.#tiles.delete(key);
    this.#tiles.set(key, image);
  }
}
