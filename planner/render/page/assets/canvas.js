// Drawing, moving and pointing. What is in view is drawn into a picture larger than the window, a few milliseconds at a
// time; moving shows that picture elsewhere, so that it never waits for drawing.
"use strict";
const SLICE = 7, MARGIN = 0.5, LEAST = 0.003, MOST = 4;
const LEGIBLE = 0.8; // the scale from which on all of a graph is shown at first, and to which it is enlarged for one thing
const LARGE = 1.5; // the largest scale at which a page shows something of its own accord
const COARSE = 0.62; // the smallest scale at which many marked things are shown together
const EDGE = 14; // pixels left free around what is brought into view

class Drawing extends Painting {
  constructor(scene) {
    super();
    this.context = canvas.getContext("2d");
    this.eye = { x: 0, y: 0, k: 1 }; // the drawing's point at the window's corner, and the scale
    this.front = null; // the last finished picture: {image, eye}
    this.job = null;
    this.chosen = null;
    this.isMoved = false; // by hand, since something was chosen
    this.marked = null; // {nodes: Set, edges: Set} that stand out
    this.colours = {};
    this.show(scene);
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readColours(); this.redraw(); });
  }
  show(scene) { this.scene = scene; this.chosen = null; this.marked = null; this.front = null; this.readColours(); this.resize(); this.begin(); }
  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "ink", "soft", "line", "raised", "mark", "hatch", "none", "box", "quiet", "removed", ...data.layers.map(l => l[0]), ...colourOf.values()])
      this.colours[name] = style.getPropertyValue(`--${name}`).trim() || "#888";
  }
  resize() {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (this.width === width && this.height === height && this.ratio === ratio) return;
    Object.assign(this, { width, height, ratio, marginX: Math.round(width * MARGIN), marginY: Math.round(height * MARGIN) });
    canvas.width = width * ratio; canvas.height = height * ratio;
    if (this.eye === this.firstEye) this.begin(); else this.redraw(true);
  }
  fit() { const { w, h } = this.scene.rect[0]; this.fitTo([0, 0, w, h]); }
  /** The scale at which all of a rectangle is in view. */
  scaleOf([, , w, h]) { return Math.min(LARGE, (this.width - 2 * EDGE) / (w || 1), (this.height - 2 * EDGE) / (h || 1)); }
  /** Bring a rectangle into the middle, as large as it fits. */
  fitTo(area, least = LEAST) {
    const [x, y, w, h] = area, k = Math.max(least, this.scaleOf(area));
    this.eye = { k, x: x + (w - this.width / k) / 2, y: y + (h - this.height / k) / 2 };
    this.redraw(true);
  }
  /** All of the graph, or its beginning where labels would be too small to be read. */
  begin() {
    this.fit();
    if (this.eye.k < LEGIBLE) this.beginAtTop();
    this.firstEye = this.eye;
  }
  beginAtTop() {
    const { scene } = this, first = (scene.order[0]?.length ? scene.order[0] : [-1]).map(thing => scene.area(thing));
    const x = Math.min(...first.map(area => area[0])), y = Math.min(...first.map(area => area[1]));
    const w = Math.max(...first.map(area => area[0] + area[2])) - x, h = Math.max(...first.map(area => area[1] + area[3])) - y;
    const k = LEGIBLE, width = this.width / k, height = this.height / k, { isDown } = scene.boxes[0], all = scene.rect[0];
    const begin = (at, size, seen, whole, isAlong) => whole <= seen ? (whole - seen) / 2 : isAlong || size > seen ? at - PAD : at + size / 2 - seen / 2; // across, the middle of the first row
    this.eye = this.within({ k, x: begin(x, w, width, all.w, !isDown), y: begin(y, h, height, all.h, isDown) });
    this.redraw(true);
  }
  /** A view without more free space beside the drawing than is needed. */
  within({ k, x, y }) {
    const all = this.scene.rect[0], free = EDGE / k;
    const clamped = (at, whole, seen) => Math.max(Math.min(-free, whole - seen + free), Math.min(at, Math.max(-free, whole - seen + free)));
    const middle = (at, whole, seen) => whole + 2 * free <= seen && (at > 0 || at + seen < whole) ? (whole - seen) / 2 : clamped(at, whole, seen);
    return { k, x: middle(x, all.w, this.width / k), y: middle(y, all.h, this.height / k) };
  }
  /** Bring a rectangle into view with as little movement as possible: none where all of it is seen and legible. */
  bring(area, least = LEGIBLE) {
    const { scene } = this, whole = this.scaleOf([0, 0, scene.rect[0].w, scene.rect[0].h]);
    if (this.eye.k >= least - 1e-9 && this.sees(area)) { this.redraw(); return; }
    if (whole >= LEGIBLE) { this.fit(); return; }
    const k = Math.max(least, Math.min(Math.max(this.eye.k, LEGIBLE), this.scaleOf(area))), free = EDGE / k, { eye } = this;
    const [x, y, w, h] = area, [width, height] = [this.width / k, this.height / k];
    const start = k === eye.k ? eye : { x: x + (w - width) / 2, y: y + (h - height) / 2 };
    const at = (from, size, was, seen) => size + free > seen ? from - free : Math.max(from + size + free - seen, Math.min(was, from - free));
    this.eye = this.within({ k, x: at(x, w, start.x, width), y: at(y, h, start.y, height) });
    this.redraw(true);
  }
  /** Bring a thing into the middle, with what is around it where both are legible together; no movement where it is well in view. */
  focus(area, around = area) {
    const whole = this.scaleOf([0, 0, this.scene.rect[0].w, this.scene.rect[0].h]), k = Math.max(this.eye.k, LEGIBLE), [x, y, w, h] = area;
    const spare = Math.min(this.width, this.height) / 8 / this.eye.k;
    if (this.eye.k >= LEGIBLE - 1e-9 && this.sees([x - spare, y - spare, w + 2 * spare, h + 2 * spare]) || this.eye.k >= LEGIBLE - 1e-9 && whole >= LEGIBLE && this.sees(area)) { this.redraw(); return; }
    if (whole >= LEGIBLE) { this.fit(); return; }
    const scale = this.scaleOf(around) >= LEGIBLE ? Math.min(k, this.scaleOf(around)) : Math.max(LEGIBLE, Math.min(k, this.scaleOf(area)));
    const [left, top, wide, tall] = this.scaleOf(around) >= LEGIBLE ? around : area, [width, height] = [this.width / scale, this.height / scale];
    this.eye = this.within({ k: scale, x: wide + 2 * EDGE / scale > width ? left - EDGE / scale : left + (wide - width) / 2, y: tall + 2 * EDGE / scale > height ? top - EDGE / scale : top + (tall - height) / 2 });
    this.redraw(true);
  }
  /** The rectangle around as many of these as are legible together at a scale, the first ones before others. */
  most(areas, scale) {
    let all = null;
    for (const [x, y, w, h] of areas) {
      const [left, top, right, foot] = all ? [Math.min(all[0], x), Math.min(all[1], y), Math.max(all[0] + all[2], x + w), Math.max(all[1] + all[3], y + h)] : [x, y, x + w, y + h];
      if (!all || this.scaleOf([left, top, right - left, foot - top]) >= scale) all = [left, top, right - left, foot - top];
    }
    return all;
  }
  /** Keep a point of the drawing where it is on the screen, though it was elsewhere in the drawing. */
  follow([x, y], [newX, newY]) { this.eye = this.within({ k: this.eye.k, x: this.eye.x + (newX - x), y: this.eye.y + (newY - y) }); }
  /** Show all of the graph, by hand. */
  showWhole() { this.isMoved = true; this.fit(); }
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const { eye } = this, k = Math.min(MOST, Math.max(LEAST, eye.k * factor));
    this.isMoved = true;
    this.eye = { k, x: eye.x + x / eye.k - x / k, y: eye.y + y / eye.k - y / k };
    this.redraw();
  }
  move(dx, dy) {
    this.isMoved = true;
    this.eye = { ...this.eye, x: this.eye.x - dx / this.eye.k, y: this.eye.y - dy / this.eye.k };
    this.blit();
    if (!this.covers()) this.redraw();
  }
  /** Whether all of a rectangle is in view. */
  sees([x, y, w, h]) {
    const { eye } = this;
    return x >= eye.x && x + w <= eye.x + this.width / eye.k && y >= eye.y && y + h <= eye.y + this.height / eye.k;
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
    image.width = (this.width + 2 * this.marginX) * this.ratio; image.height = (this.height + 2 * this.marginY) * this.ratio;
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
    const x = (front.eye.x - eye.x) * eye.k * ratio - this.marginX * ratio * scale;
    const y = (front.eye.y - eye.y) * eye.k * ratio - this.marginY * ratio * scale;
    context.drawImage(front.image, x, y, front.image.width * scale, front.image.height * scale);
    for (const thing of this.chosen === null ? [] : [this.chosen, ...this.marked?.halves || []]) this.frame(context, thing);
    this.beyond(context);
    drawMap(this, context);
  }
  /** Bring a point of the drawing into the middle. */
  centre([x, y]) { this.isMoved = true; this.eye = { ...this.eye, x: x - this.width / this.eye.k / 2, y: y - this.height / this.eye.k / 2 }; this.blit(); if (!this.covers()) this.redraw(); }
  /** Signs at the sides of the window beyond which the drawing goes on. */
  beyond(context) {
    const { eye, ratio, width, height } = this, all = this.scene.rect[0], far = 2 * EDGE / eye.k;
    const sides = [[0, -1, eye.y > far], [0, 1, all.h - eye.y - height / eye.k > far], [-1, 0, eye.x > far], [1, 0, all.w - eye.x - width / eye.k > far]];
    for (const [dx, dy, isMore] of sides) {
      if (!isMore) continue;
      const x = (width / 2 + dx * (width / 2 - 10)) * ratio, y = (height / 2 + dy * (height / 2 - 10)) * ratio, size = 5 * ratio;
      context.fillStyle = this.colours.paper; context.strokeStyle = this.colours.line; context.lineWidth = ratio;
      context.beginPath(); context.roundRect(x - (dx ? 7 : 20) * ratio, y - (dx ? 20 : 7) * ratio, (dx ? 14 : 40) * ratio, (dx ? 40 : 14) * ratio, 5 * ratio); context.fill(); context.stroke();
      context.fillStyle = this.colours.ink;
      context.beginPath(); context.moveTo(x + dx * size, y + dy * size); context.lineTo(x - (dx || 1.6) * size, y - (dy || 1.6) * size); context.lineTo(x - (dx || -1.6) * size, y - (dy || -1.6) * size); context.fill();
    }
  }
  frame(context, thing) {
    const [x, y, w, h] = this.scene.area(thing), { eye, ratio } = this;
    context.strokeStyle = this.colours.mark; context.lineWidth = 3 * ratio;
    const grow = 3;
    context.strokeRect((x - eye.x) * eye.k * ratio - grow * ratio, (y - eye.y) * eye.k * ratio - grow * ratio,
      (w * eye.k + 2 * grow) * ratio, (h * eye.k + 2 * grow) * ratio);
  }

  // -------------------------------------------------------------- pointing

  inWindow(event) { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; }
  point(event) { const [x, y] = this.inWindow(event); return [x / this.eye.k + this.eye.x, y / this.eye.k + this.eye.y]; }
  /** The line nearest to a point, if one is near: an edge or, from a cause to what it sets off, [thing, cause]. */
  lineAt(x, y) {
    let best = null, least = 7 / this.eye.k;
    for (const line of [...this.scene.lines, ...this.links()]) {
      const route = Array.isArray(line) ? this.way(line, `link ${line}`) : this.route(line);
      if (route.length === 8 && (x < Math.min(route[0], route[6]) - 40 || x > Math.max(route[0], route[6]) + 40)) continue;
      for (let n = 2, [x1, y1] = route; n < route.length; [x1, y1] = [route[n + 4], route[n + 5]], n += 6)
        for (let t = 0; t <= 1; t += 1 / 24) {
          const u = 1 - t, a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;
          const far = Math.hypot(a * x1 + b * route[n] + c * route[n + 2] + d * route[n + 4] - x, a * y1 + b * route[n + 1] + c * route[n + 3] + d * route[n + 5] - y);
          if (far < least) { least = far; best = line; }
        }
    }
    return best;
  }
}
