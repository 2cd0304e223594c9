// Drawing, moving and pointing. What is in view is drawn into a picture larger than the window, a few milliseconds at a
// time; moving shows that picture elsewhere, so that it never waits for drawing.
"use strict";
const canvas = document.getElementById("graph");
const DASHES = [[], [7, 4], [2, 3], [11, 3, 2, 3], [4, 2]]; // by layer, as the legend has them
const SLICE = 7, MARGIN = 0.5, LEAST = 0.003, MOST = 4;

class Drawing {
  constructor(scene) {
    this.context = canvas.getContext("2d");
    this.eye = { x: 0, y: 0, k: 1 }; // the drawing's point at the window's corner, and the scale
    this.front = null; // the last finished picture: {image, eye}
    this.job = null;
    this.chosen = null;
    this.marked = null; // {nodes: Set, edges: Set} that stand out
    this.colours = {};
    this.show(scene);
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readColours(); this.redraw(); });
  }
  show(scene) { this.scene = scene; this.chosen = null; this.marked = null; this.front = null; this.readColours(); this.resize(); this.fit(); }
  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "ink", "soft", "line", "raised", "mark", "none", "box", ...data.layers.map(l => l[0]), ...colourOf.values()])
      this.colours[name] = style.getPropertyValue(`--${name}`).trim() || "#888";
  }
  resize() {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (this.width === width && this.height === height && this.ratio === ratio) return;
    Object.assign(this, { width, height, ratio });
    canvas.width = width * ratio; canvas.height = height * ratio;
    this.redraw(true);
  }
  fit() {
    const { w, h } = this.scene.rect[0];
    const k = Math.min(1.2, Math.max(LEAST, 0.97 * Math.min(this.width / (w || 1), this.height / (h || 1))));
    this.eye = { k, x: (w - this.width / k) / 2, y: (h - this.height / k) / 2 };
    this.redraw(true);
  }
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const { eye } = this, k = Math.min(MOST, Math.max(LEAST, eye.k * factor));
    this.eye = { k, x: eye.x + x / eye.k - x / k, y: eye.y + y / eye.k - y / k };
    this.redraw();
  }
  move(dx, dy) {
    this.eye = { ...this.eye, x: this.eye.x - dx / this.eye.k, y: this.eye.y - dy / this.eye.k };
    this.blit();
    if (!this.covers()) this.redraw();
  }
  /** Bring a thing into view. */
  look(thing) {
    const [x, y, w, h] = this.scene.area(thing), { eye } = this;
    const k = Math.max(eye.k, 0.6), width = this.width / k, height = this.height / k;
    const isIn = k === eye.k && x >= eye.x && x + w <= eye.x + width && y >= eye.y && y + h <= eye.y + height;
    if (!isIn) this.eye = { k, x: x + w / 2 - width / 2, y: y + h / 2 - height / 2 };
    this.redraw();
  }
  /** Whether the finished or the coming picture still has some room around what is in view. */
  covers() {
    const at = (this.job || this.front || {}).eye, { eye } = this;
    if (!at || at.k !== eye.k) return false;
    const spareX = this.width * MARGIN / at.k * 0.7, spareY = this.height * MARGIN / at.k * 0.7;
    return Math.abs(at.x - eye.x) < spareX && Math.abs(at.y - eye.y) < spareY;
  }
  /** Draw anew; `atOnce` in one go, for what must be seen now. */
  redraw(atOnce = false) {
    if (!this.width || !this.height) return;
    const image = document.createElement("canvas");
    image.width = this.width * this.ratio * (1 + 2 * MARGIN); image.height = this.height * this.ratio * (1 + 2 * MARGIN);
    this.job = { image, eye: { ...this.eye }, steps: this.paint(image, { ...this.eye }) };
    if (atOnce || !this.front) { for (const _ of this.job.steps); this.finish(); return; }
    this.blit();
    if (!this.waiting) { this.waiting = true; requestAnimationFrame(() => this.work()); }
  }
  work() {
    const end = performance.now() + SLICE;
    while (this.job && performance.now() < end) if (this.job.steps.next().done) this.finish();
    if (this.job) requestAnimationFrame(() => this.work()); else this.waiting = false;
  }
  finish() { this.front = this.job; this.job = null; this.blit(); document.body.dataset.drawn = (+document.body.dataset.drawn || 0) + 1; }
  /** The finished picture where it belongs now. */
  blit() {
    const { context, front, eye, ratio } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.colours.paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (!front) return;
    const scale = eye.k / front.eye.k;
    const x = (front.eye.x - eye.x) * eye.k * ratio - MARGIN * this.width * ratio * scale;
    const y = (front.eye.y - eye.y) * eye.k * ratio - MARGIN * this.height * ratio * scale;
    context.drawImage(front.image, x, y, front.image.width * scale, front.image.height * scale);
    if (this.chosen !== null) this.frame(context);
  }
  frame(context) {
    const [x, y, w, h] = this.scene.area(this.chosen), { eye, ratio } = this;
    context.strokeStyle = this.colours.mark; context.lineWidth = 3 * ratio;
    const grow = 3;
    context.strokeRect((x - eye.x) * eye.k * ratio - grow * ratio, (y - eye.y) * eye.k * ratio - grow * ratio,
      (w * eye.k + 2 * grow) * ratio, (h * eye.k + 2 * grow) * ratio);
  }

  // -------------------------------------------------------------- painting

  *paint(image, eye) {
    const context = image.getContext("2d"), { scene, colours, ratio } = this, k = eye.k;
    const left = eye.x - this.width * MARGIN / k, top = eye.y - this.height * MARGIN / k;
    const right = left + this.width * (1 + 2 * MARGIN) / k, bottom = top + this.height * (1 + 2 * MARGIN) / k;
    context.setTransform(k * ratio, 0, 0, k * ratio, -left * k * ratio, -top * k * ratio);
    context.fillStyle = colours.paper;
    context.fillRect(left, top, right - left, bottom - top);
    const sees = (x, y, w, h) => x < right && x + w > left && y < bottom && y + h > top;
    for (let b = 1; b < scene.boxes.length; b++) {
      const { x, y, w, h, shown } = scene.rect[b];
      if (!shown || scene.folded[b] || !h || !sees(x, y, w, h)) continue;
      context.fillStyle = colours.box; context.strokeStyle = colours.line; context.lineWidth = 1 / k;
      context.fillRect(x, y, w, h); context.strokeRect(x, y, w, h);
      if (k > 0.3) this.letters(context, `\u25be ${scene.boxTitle(b)}`, x + 8, y + 16, w - 12, colours.soft);
    }
    yield* this.edges(context, k, sees);
    let drawn = 0;
    context.lineWidth = 1 / Math.max(k, 0.4);
    for (const [thing] of scene.where) {
      const [x, y, w, h] = scene.area(thing);
      if (!h || !sees(x, y, w, h) || thing < 0 && !scene.folded[-1 - thing]) continue;
      if (++drawn % 200 === 0) yield;
      this.thing(context, thing, x, y, w, h, k);
    }
  }
  *edges(context, k, sees) {
    const { scene, colours, marked } = this;
    const runs = data.layers.map(() => []), strong = [];
    const always = marked && marked.edges.size <= 1000 ? marked.edges : []; // hidden kinds among them, too
    for (const e of always) if (scene.stands[scene.from[e]] !== scene.stands[scene.to[e]] && !scene.hidden[scene.from[e]] && !scene.hidden[scene.to[e]]) strong.push(this.curve(e));
    let looked = 0;
    for (const e of scene.lines) {
      if (++looked % 5000 === 0) yield;
      const curve = this.curve(e);
      const x = Math.min(curve[0], curve[2]), y = Math.min(curve[1], curve[3]);
      if (!sees(x - 40, y, Math.abs(curve[2] - curve[0]) + 80, Math.abs(curve[3] - curve[1]) + 1)) continue;
      if (marked && marked.edges.has(e)) { if (always !== marked.edges) strong.push(curve); }
      else runs[31 - Math.clz32(scene.layers[e] & -scene.layers[e])].push(curve);
    }
    const stroke = function* (curves, colour, width, alpha) {
      context.strokeStyle = colour; context.lineWidth = width; context.globalAlpha = alpha;
      for (let at = 0; at < curves.length; at += 150) {
        context.beginPath();
        for (let n = at; n < Math.min(at + 150, curves.length); n++) {
          const [x1, y1, x2, y2, dx, dy] = curves[n];
          context.moveTo(x1, y1);
          context.bezierCurveTo(x1 - dx, y1 - dy, x2 + dx, y2 + dy, x2, y2);
        }
        context.stroke();
        yield;
      }
      context.globalAlpha = 1;
    };
    const many = scene.lines.length > 1500;
    for (let n = 0; n < runs.length; n++) {
      context.setLineDash(many ? [] : DASHES[n] || []);
      yield* stroke(runs[n], colours[data.layers[n][0]], Math.max(1, 0.7 / k), marked ? 0.12 : many ? 0.35 : scene.lines.length > 300 ? 0.55 : 0.75);
    }
    context.setLineDash([]);
    yield* stroke(strong, colours.mark, Math.max(2.2, 1.4 / k), 1);
  }
  /** From the left, or the top, of what waits to the right, or the foot, of what it waits for: both ends and the bend. */
  curve(e) {
    const { scene } = this, one = scene.stands[scene.from[e]], other = scene.stands[scene.to[e]];
    const [ax, ay, aw, ah] = scene.area(one), [bx, by, bw, bh] = scene.area(other);
    if (ay >= by + bh && (scene.down(one) && scene.down(other) || ax < bx + bw)) return [ax + aw / 2, ay, bx + bw / 2, by + bh, 0, Math.max(12, (ay - by - bh) * 0.4)];
    return [ax, ay + ah / 2, bx + bw, by + bh / 2, Math.max(25, Math.abs(bx + bw - ax) * 0.4), 0];
  }
  thing(context, thing, x, y, w, h, k) {
    const { scene, colours, marked } = this;
    const box = thing < 0 ? scene.boxes[-1 - thing] : null;
    const isFaint = marked && !(box ? marked.boxes.has(-1 - thing) : marked.nodes.has(thing));
    context.globalAlpha = isFaint ? 0.35 : 1;
    context.fillStyle = box ? colours.raised : colours[colourOf.get(scene.action[thing]) || "none"];
    context.strokeStyle = colours.soft;
    context.beginPath();
    if (k > 0.3) context.roundRect(x, y, w, h, 5); else context.rect(x, y, w, h);
    context.fill(); context.stroke();
    if (k > 0.3) {
      const title = box ? `\u25b8 ${scene.boxTitle(-1 - thing)}` : scene.label(thing);
      this.letters(context, title, x + 9, y + h / 2 + 4, w - 14, colours.ink);
    }
    let left = x;
    for (const [colour, number] of box ? box.tally : []) { // how many of which changes are in it
      const width = w * number / box.size;
      context.fillStyle = colours[colour] || colours.none;
      context.fillRect(left, y + h - 5, width, 5);
      left += width;
    }
    context.globalAlpha = 1;
  }
  letters(context, text, x, y, room, colour) {
    context.font = "11px ui-monospace, monospace";
    context.fillStyle = colour;
    const fits = Math.floor(room / LETTER) + 1;
    context.fillText(text.length > fits ? `${text.slice(0, fits - 1)}\u2026` : text, x, y);
  }

  // -------------------------------------------------------------- pointing

  point(event) {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / this.eye.k + this.eye.x, (event.clientY - box.top) / this.eye.k + this.eye.y];
  }
  /** The edge that is drawn nearest to a point, if one is near. */
  edgeAt(x, y) {
    let best = null, least = 7 / this.eye.k;
    for (const e of this.scene.lines) {
      const [x1, y1, x2, y2, dx, dy] = this.curve(e);
      if (x < Math.min(x1, x2) - dx - least || x > Math.max(x1, x2) + dx + least) continue;
      if (y < Math.min(y1, y2) - dy - least || y > Math.max(y1, y2) + dy + least) continue;
      for (let t = 0; t <= 1; t += 1 / 40) {
        const u = 1 - t, a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;
        const far = Math.hypot(a * x1 + b * (x1 - dx) + c * (x2 + dx) + d * x2 - x, a * y1 + b * (y1 - dy) + c * (y2 + dy) + d * y2 - y);
        if (far < least) { least = far; best = e; }
      }
    }
    return best;
  }
}
