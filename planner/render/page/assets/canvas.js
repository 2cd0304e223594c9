// Drawing, moving and pointing. What is in view is drawn into a picture larger than the window, a few milliseconds at a
// time; moving shows that picture elsewhere, so that it never waits for drawing.
"use strict";
const DASHES = [[], [7, 4], [2, 3], [11, 3, 2, 3], [4, 2]]; // by layer, as the legend has them
const SLICE = 7, MARGIN = 0.5, LEAST = 0.003, MOST = 4;
const LEGIBLE = 0.8; // the scale from which on all of a graph is shown at first, and to which it is enlarged for one thing
const LARGE = 1.5; // the largest scale at which a page shows something of its own accord
const COARSE = 0.5; // the smallest scale at which many marked things are shown together
const FAINT = 0.35; // how much is seen of what is not marked
const EDGE = 14; // pixels left free around what is brought into view
const LETTER_OF = 0.602; // the width of a letter at size 1
const READABLE = 9; // pixels of letters below which texts are left out
const CONDENSED = 1.25; // how many times as many letters as usual a label may have in its room
const CROWDED = 40; // edges from which on those within a layer are faint
const LINKS = 60; // lines from a cause to what it sets off at most
const ROUTED = 2000; // edges up to which they are led around boxes

/** The size of letters at a scale: larger than usual where the scale is small, so that they have 12 pixels. */
const sizeOf = k => Math.min(NODE * 0.62, Math.max(13, 12 / k));

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
    if (k < LEGIBLE) this.coarse = { eye: this.eye, before: eye };
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
  /** Return to the view before many marked things were brought into view at a small scale. */
  goBack() { if (this.eye === this.coarse?.eye) this.eye = this.within(this.coarse.before); }
  /** Keep a point of the drawing where it is on the screen, though it was elsewhere in the drawing. */
  follow([x, y], [newX, newY]) { this.eye = this.within({ k: this.eye.k, x: this.eye.x + (newX - x), y: this.eye.y + (newY - y) }); }
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
  centre([x, y]) { this.eye = { ...this.eye, x: x - this.width / this.eye.k / 2, y: y - this.height / this.eye.k / 2 }; this.blit(); if (!this.covers()) this.redraw(); }
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

  // -------------------------------------------------------------- painting

  *paint(image, eye) {
    const context = image.getContext("2d"), { ratio } = this, k = eye.k;
    const left = eye.x - this.marginX / k, top = eye.y - this.marginY / k;
    context.setTransform(k * ratio, 0, 0, k * ratio, -left * k * ratio, -top * k * ratio);
    yield* this.paintOn(context, k, left, top, (this.width + 2 * this.marginX) / k, (this.height + 2 * this.marginY) / k);
  }
  /** Paint a part of the drawing on a context whose units are the drawing's, to be seen at the scale k. */
  *paintOn(context, k, left, top, width, height) {
    const { scene, colours } = this, right = left + width, bottom = top + height;
    context.fillStyle = colours.paper;
    context.fillRect(left, top, width, height);
    const sees = (x, y, w, h) => x < right && x + w > left && y < bottom && y + h > top;
    for (let b = 1; b < scene.boxes.length; b++) {
      const { x, y, w, h, shown } = scene.rect[b];
      if (!shown || scene.isClosed(b) || !h || !sees(x, y, w, h)) continue;
      context.fillStyle = colours.box; context.strokeStyle = colours.line; context.lineWidth = 1 / k;
      context.fillRect(x, y, w, h); context.strokeRect(x, y, w, h);
    }
    yield* this.edges(context, k, sees);
    for (let b = 1; b < scene.boxes.length; b++) { // titles above edges
      const { x, y, w, h, shown } = scene.rect[b];
      if (shown && !scene.isClosed(b) && h && sees(x, y, w, h)) this.title(context, b, "\u25be", x + 8, y + HEAD / 2, w - 12, k);
    }
    let drawn = 0;
    for (const [thing] of scene.where) {
      const [x, y, w, h] = scene.area(thing);
      if (!h || !sees(x, y, w, h) || scene.isOpen(thing)) continue;
      if (++drawn % 200 === 0) yield;
      context.lineWidth = 1 / Math.max(k, 0.4);
      this.thing(context, thing, x, y, w, h, k);
    }
    if (sizeOf(k) * k < READABLE) names(this, context, k);
  }
  *edges(context, k, sees) {
    const { scene, colours, marked } = this;
    const runs = data.layers.map(() => []), strong = [], linked = [], quiet = []; // in a layer, around which they all lead
    const isWithin = (one, other) => scene.box(one) === scene.box(other) && scene.where.get(one).layer === scene.where.get(other).layer;
    const always = marked && marked.edges.size <= 1000 ? marked.edges : []; // hidden kinds among them, too
    const drawn = [...always].filter(e => scene.stands[scene.from[e]] !== scene.stands[scene.to[e]] && !scene.hidden[scene.from[e]] && !scene.hidden[scene.to[e]] && !scene.isLate(scene.from[e], scene.to[e]));
    for (const { ends, edges: [e] } of scene.bundled(drawn)) strong.push(this.way(ends, `${e} ${ends}`));
    for (const ends of this.links()) linked.push(this.way(ends, `link ${ends}`));
    const spreads = marked?.isCounted ? e => scene.bundle(e).some(one => marked.nodes.has(scene.from[one]) && marked.nodes.has(scene.to[one])) : () => false; // from one marked object to another
    let looked = 0;
    for (const e of scene.lines) {
      if (++looked % 2000 === 0) yield;
      const route = this.route(e), end = route.length;
      route.isMutual = scene.mutual.has(e);
      const x = Math.min(route[0], route[end - 2]), y = Math.min(route[1], route[end - 1]);
      if (end === 8 && !sees(x - 40, y, Math.abs(route[0] - route[end - 2]) + 80, Math.abs(route[1] - route[end - 1]) + 1)) continue;
      if (spreads(e)) strong.push(route);
      else if (marked && marked.edges.has(e)) { if (always !== marked.edges) strong.push(route); }
      else if (scene.lines.length > CROWDED && (isWithin(...scene.ends(e)) || scene.back.has(e))) quiet.push(route);
      else runs[31 - Math.clz32(scene.layers[e] & -scene.layers[e])].push(route);
    }
    const hasHeads = k > 0.35 && scene.lines.length <= 400;
    const stroke = function* (routes, colour, width, alpha) {
      context.strokeStyle = context.fillStyle = colour; context.lineWidth = width; context.globalAlpha = alpha;
      for (let at = 0; at < routes.length; at += 150) {
        context.beginPath();
        for (const route of routes.slice(at, at + 150)) {
          context.moveTo(route[0], route[1]);
          for (let n = 2; n < route.length; n += 6) context.bezierCurveTo(route[n], route[n + 1], route[n + 2], route[n + 3], route[n + 4], route[n + 5]);
        }
        context.stroke();
        yield;
      }
      if (hasHeads) { // at what waits
        context.beginPath();
        const head = (x, y, cx, cy) => {
          const far = Math.hypot(cx - x, cy - y) || 1, [dx, dy] = [(cx - x) / far * 7, (cy - y) / far * 7];
          context.moveTo(x, y); context.lineTo(x + dx - dy / 2, y + dy + dx / 2); context.lineTo(x + dx + dy / 2, y + dy - dx / 2); context.lineTo(x, y);
        };
        for (const route of routes) { head(...route.slice(0, 4)); if (route.isMutual) { const [cx, cy, x, y] = route.slice(-4); head(x, y, cx, cy); } }
        context.fill();
      }
      context.globalAlpha = 1;
    };
    const many = scene.lines.length > 1500;
    for (let n = 0; n < runs.length; n++) {
      context.setLineDash(many ? [] : DASHES[n] || []);
      yield* stroke(runs[n], colours[data.layers[n][0]], Math.max(1, 0.7 / k), (sizeOf(k) * k < READABLE && scene.lines.length > CROWDED ? 0.5 : 1) * (marked ? 0.15 : many ? 0.35 : scene.lines.length > 300 ? 0.6 : 0.85)); // fainter from afar
    }
    context.setLineDash([]);
    yield* stroke(quiet, colours.soft, Math.max(0.7, 0.5 / k), scene.lines.length > 300 ? 0.07 : 0.15);
    yield* stroke(strong, colours.mark, Math.max(2.2, 1.4 / k), 1);
    if (hasHeads) this.between(context, k, sees);
    context.setLineDash([6 / Math.min(1, k), 3 / Math.min(1, k)]);
    yield* stroke(linked, colours.mark, Math.max(1.6, 1.2 / k), 1);
    context.setLineDash([]);
  }
  /** At lines that lead through hidden objects the number of these. */
  between(context, k, sees) {
    const { scene, colours, marked } = this;
    for (const e of scene.lines) {
      const number = scene.hiddenBetween(e);
      if (!number || scene.lines.length > CROWDED && !(marked && scene.bundle(e).some(one => marked.edges.has(one)))) continue;
      const route = this.route(e), at = 6 * Math.floor((route.length - 2) / 12), [a, b, c, d] = [0, 2, 4, 6].map(n => [route[at + n], route[at + n + 1]]);
      const [x, y] = [0, 1].map(n => (a[n] + 3 * b[n] + 3 * c[n] + d[n]) / 8), isStrong = marked && scene.bundle(e).some(one => marked.edges.has(one));
      if (!sees(x - 20, y - 10, 40, 20)) continue;
      context.globalAlpha = marked && !isStrong ? FAINT : 1;
      this.pill(context, `+${number}`, x + sizeOf(k), y, k, isStrong ? colours.mark : colours.soft);
    }
    context.globalAlpha = 1;
  }
  /** From the causes that are marked to what they set off, where no line that is drawn leads there: [thing, cause]. */
  links() {
    const { scene, marked } = this, sources = [...marked?.sources || []].filter(node => !scene.hidden[node]).map(node => scene.stands[node]);
    if (!sources.length) return [];
    const things = [...new Set([...marked.nodes].filter(node => !scene.hidden[node] && !scene.isOld(node)).map(node => scene.stands[node]))];
    const after = new Map([...things, ...sources].map(thing => [thing, []])), waiting = new Set();
    for (const e of scene.lines) {
      const [a, b] = scene.ends(e);
      if (a === b || !after.has(a) || !after.has(b)) continue;
      after.get(b).push(a); waiting.add(a);
    }
    const pairs = [], reached = new Set(sources), spread = () => { for (const one of reached) for (const other of after.get(one) || []) reached.add(other); };
    spread();
    for (const thing of [...things.filter(one => !waiting.has(one)), ...things]) {
      if (reached.has(thing)) continue;
      if (pairs.length < LINKS) pairs.push([thing, sources[0]]);
      reached.add(thing); spread();
    }
    return pairs;
  }
  /** The way of a line in curves, from what waits to what it waits for: its start, then two controls and an end each. */
  route(e) { return this.way(this.scene.ends(e), e); }
  way(ends, key) {
    const { scene } = this;
    let found = scene.routes.get(key);
    if (!found) scene.routes.set(key, found = scene.lines.length <= ROUTED ? routed(scene, ends) : curved(scene, ends));
    return found;
  }
  thing(context, thing, x, y, w, h, k) {
    const { scene, colours, marked } = this;
    const box = thing < 0 ? scene.boxes[-1 - thing] : null;
    const isFaint = marked && !(box ? marked.boxes.has(-1 - thing) : marked.nodes.has(thing));
    context.globalAlpha = isFaint ? FAINT : 1;
    const isMixed = !box && scene.isMixed(thing);
    const isCause = !box && scene.causing.has(thing);
    context.fillStyle = box ? colours.raised : isMixed || isCause && !scene.action[thing] ? colours.paper : colours[colourOf.get(scene.action[thing]) || "none"];
    const isDestroyed = !box && scene.isDestroyed(thing);
    context.strokeStyle = isMixed ? colours.ink : isDestroyed ? colours.removed : colours.soft;
    if (isDestroyed) context.lineWidth *= 1.6;
    context.beginPath();
    if (k > 0.3) context.roundRect(x, y, w, h, 5); else context.rect(x, y, w, h);
    context.fill();
    if (isCause) { context.strokeStyle = colours.mark; context.lineWidth = 2 / Math.max(k, 0.4); context.setLineDash([6, 3]); }
    context.stroke();
    context.setLineDash([]);
    if (box) this.title(context, -1 - thing, scene.isEmpty(-1 - thing) ? "" : "\u25b8", x + 9, y + h / 2, w - 15, k);
    else {
      if (isDestroyed && k > 0.3) this.hatch(context, x, y, w, h, k);
      if (scene.isOld(thing)) { context.fillStyle = colours.removed; context.fillRect(x, y + 1, 5, h - 2); }
      this.label(context, thing, x, y, w, h, k);
    }
    let left = x;
    for (const [action, number] of box && !scene.counts(-1 - thing).length ? box.tally : []) { // how many of which changes are in it
      const width = w * number / Math.max(box.distinct.size, scene.onlyChanged ? 1 : box.size);
      context.fillStyle = colours[colourOf.get(action)] || colours.none;
      context.fillRect(left, y + h - 5, width, 5);
      left += width;
    }
    context.globalAlpha = 1;
  }
  /** A text on a round ground of the colour of marks, up to a place on the right. */
  pill(context, text, right, y, k, colour = this.colours.mark) {
    const size = sizeOf(k) * 0.88, width = Math.max(1.4, text.length * LETTER_OF + 0.7) * size;
    if (size * k < READABLE * 0.88) return;
    context.fillStyle = colour;
    context.beginPath(); context.roundRect(right - width, y - size * 0.7, width, size * 1.4, size * 0.7); context.fill();
    context.font = `600 ${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
    context.textBaseline = "middle"; context.fillStyle = this.colours.paper;
    context.fillText(text, right - (width + text.length * size * LETTER_OF) / 2, y, width);
  }
  /** Stripes over a rectangle: what is in it is destroyed. */
  hatch(context, x, y, w, h, k) {
    const step = 7 / Math.min(1, k * 1.2), before = context.strokeStyle;
    context.beginPath();
    for (let at = step; at < w + h - 2; at += step) {
      context.moveTo(x + Math.max(1, at - h + 1), y + Math.min(at, h - 1));
      context.lineTo(x + Math.min(at, w - 1), y + Math.max(1, at - w + 1));
    }
    context.strokeStyle = this.colours.hatch; context.lineWidth = 2 / Math.min(1, k * 1.2);
    context.stroke();
    context.strokeStyle = before;
  }
  /** The type of a node above its name, or only the name where both have no room. */
  label(context, thing, x, y, w, h, k) {
    const [type, name] = this.scene.labelLines(thing), isDouble = type && 2.2 * sizeOf(k) < h;
    const numbers = this.scene.causing.has(thing) ? causeNumbers(this.scene.causes(thing)) : "";
    const taken = numbers ? (numbers.length * LETTER_OF + 1.2) * sizeOf(k) : 0; // by the numbers
    if (isDouble) this.letters(context, type, x + 9, y + h * 0.28, w - 15 - taken, this.colours.quiet, k);
    if (isDouble && numbers) this.pill(context, numbers, x + w - 5, y + h * 0.27, k);
    const middle = y + h * (isDouble ? 0.7 : 0.5), right = this.badges(context, this.scene.badges(thing), x + w - 6, middle, k, 0.6);
    this.letters(context, name, x + 9, middle, right - x - 9, this.colours.ink, k, isDouble ? "600 " : "");
  }
  /** The title of a box: its name, then the numbers of its changes, each on its colour. */
  title(context, b, sign, x, y, room, k) {
    const size = sizeOf(k), counts = this.marked?.touched?.get(b)?.map(badge) || this.scene.counts(b); // of a cause only what it sets off
    if (size * k < READABLE) return;
    const wide = text => text.length * size * LETTER_OF + 12, named = `${sign && `${sign} `}${counts.length ? this.scene.boxName(b) : this.scene.boxTitle(b)}`;
    if (!this.scene.isClosed(b)) room = Math.min(room, counts.reduce((all, [, text]) => all + wide(text), wide(named))); // beside the name
    if (!this.scene.isClosed(b)) for (const colour of ["paper", ...this.scene.outward(b).fill("box")]) { context.fillStyle = this.colours[colour]; context.fillRect(x - 3, y - size * 0.75, room + 6, size * 1.5); } // edges lead behind it
    if (!this.scene.isClosed(b) && this.marked && !this.marked.boxes.has(b)) context.globalAlpha = FAINT;
    const right = this.badges(context, counts, x + room, y, k);
    this.letters(context, named, x, y, right - x - 4, this.colours.ink, k, "600 ");
    if (!this.scene.isClosed(b)) context.globalAlpha = 1;
  }
  /** Numbers of changes, each on its colour, up to a place on the right; where they begin. */
  badges(context, counts, right, y, k, half = 0.75) {
    const size = sizeOf(k);
    if (size * k < READABLE) return right;
    for (const [colour, text] of [...counts].reverse()) {
      const width = text.length * size * LETTER_OF + 8;
      right -= width;
      context.fillStyle = this.colours[colour] || this.colours.none;
      context.fillRect(right, y - size * half, width, size * 2 * half);
      if (colour === "delete") this.hatch(context, right, y - size * half, width, size * 2 * half, k);
      this.letters(context, text, right + 4, y, width, this.colours.ink, k, "600 ");
      right -= 4;
    }
    return right;
  }
  /** Text around the middle of a line, larger than usual where the scale is small; condensed, or with its end, if it is too long. */
  letters(context, text, x, y, room, colour, k, weight = "") {
    const size = sizeOf(k);
    if (size * k < READABLE) return;
    context.font = `${weight}${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
    context.textBaseline = "middle";
    context.fillStyle = colour;
    const fits = Math.floor(room / (size * LETTER_OF) * CONDENSED), first = Math.floor(fits * 0.4);
    context.fillText(text.length > fits ? `${text.slice(0, first)}\u2026${text.slice(text.length - fits + first + 1)}` : text, x, y, room);
  }

  // -------------------------------------------------------------- pointing

  inWindow(event) { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; }
  point(event) { const [x, y] = this.inWindow(event); return [x / this.eye.k + this.eye.x, y / this.eye.k + this.eye.y]; }
  /** The edge that is drawn nearest to a point, if one is near. */
  edgeAt(x, y) {
    let best = null, least = 7 / this.eye.k;
    for (const e of this.scene.lines) {
      const route = this.route(e);
      if (route.length === 8 && (x < Math.min(route[0], route[6]) - 40 || x > Math.max(route[0], route[6]) + 40)) continue;
      for (let n = 2, [x1, y1] = route; n < route.length; [x1, y1] = [route[n + 4], route[n + 5]], n += 6)
        for (let t = 0; t <= 1; t += 1 / 24) {
          const u = 1 - t, a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;
          const far = Math.hypot(a * x1 + b * route[n] + c * route[n + 2] + d * route[n + 4] - x, a * y1 + b * route[n + 1] + c * route[n + 3] + d * route[n + 5] - y);
          if (far < least) { least = far; best = e; }
        }
    }
    return best;
  }
}
