// How a drawing is painted: boxes, lines, things and their labels, a part at a time.
"use strict";
const DASHES = [[], [7, 4], [2, 3], [11, 3, 2, 3], [4, 2]]; // by layer, as the legend has them
const FAINT = 0.35; // how much is seen of what is not marked
const LETTER_OF = 0.602; // the width of a letter at size 1
const SMALLER = 0.86; // the size of a type above a name, as a part of that of the name
const READABLE = 9; // pixels of letters below which texts are left out
const CONDENSED = 1.35; // how many times as many letters as usual a label may have in its room
const CROWDED = 40; // edges from which on those within a layer are faint
const MOST_NUMBERS = 12; // numbers of causes, or runs of them, that are shown where there is room
const SHORT_NAME = 8; // letters of the name of a box for which there is room beside the numbers of causes
const MOST_LINKED = 60; // lines from causes up to which they are drawn while a filter is chosen
const FEW_LINKED = 8; // lines from causes to their effects from which on they are faint
const ROUTED = 2000; // edges up to which they are led around boxes

/** The size of letters at a scale: larger than usual where the scale is small, so that they have 12 pixels. */
const sizeOf = k => Math.min(NODE * 0.62, Math.max(13, 12 / k));

const KEYED = /^(\W*)(\S*[^\s[])(\[(?:"(?:\\.|[^"\\])*"|\d+)\].*)$/; // the label of an instance: its sign, its name, its key
const CHANGED = /^(\S+) {2}.* \u2192 (.*)$/; // the label of a value that is a cause
/** A text with at most so many letters. Of an instance the key is kept, which tells it from others, or as much of its beginning as fits; of a cause its name and what it is now. */
function cut(text, most) {
  if (text.length <= most) return text;
  const [, value, after] = CHANGED.exec(text) || [];
  if (value && value.length <= most) return [`${value}  \u2026 \u2192 ${after}`, `${value}  \u2026`, value].find(shorter => shorter.length <= most);
  const [, sign, name, key] = KEYED.exec(text) || [], room = most - (sign?.length || 0) - (key?.length || 0) - 1;
  if (key && room >= 1) return `${sign}${name.slice(0, room)}\u2026${key}`;
  if (key) return `${sign}\u2026${key.slice(0, Math.max(0, most - sign.length - 2))}\u2026`;
  const first = Math.ceil(most * 0.7);
  return `${text.slice(0, first)}\u2026${text.slice(text.length - most + first + 1)}`;
}

/** A route from its end to its beginning, with its head there. */
function reversed(route) {
  const turned = [];
  for (let n = route.length - 2; n >= 0; n -= 2) turned.push(route[n], route[n + 1]);
  return Object.assign(turned, { heads: [false, true] });
}
class Painting {
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
    const runs = data.layers.map(() => []), strong = data.layers.map(() => []), linked = [], effects = [], quiet = []; // in a layer, around which they all lead
    const layerOf = e => scene.readLines.has(e) ? Math.log2(REFERENCE) : 31 - Math.clz32(scene.layers[e] & -scene.layers[e]);
    const isWithin = (one, other) => scene.box(one) === scene.box(other) && scene.where.get(one).layer === scene.where.get(other).layer;
    const always = marked && marked.edges.size <= 1000 ? marked.edges : []; // hidden kinds among them, too
    const isOwn = e => this.chosen !== null && (scene.from[e] === this.chosen || scene.to[e] === this.chosen);
    const drawn = [...always].filter(e => scene.stands[scene.from[e]] !== scene.stands[scene.to[e]] && !scene.hidden[scene.from[e]] && !scene.hidden[scene.to[e]] && (isOwn(e) || !scene.isLate(scene.from[e], scene.to[e])));
    for (const { ends, edges: [e] } of scene.bundled(drawn)) strong[layerOf(e)].push(this.way(ends, `${e} ${ends}`));
    const links = this.links();
    document.body.classList.toggle("linked", links.length > 0); // for the legend
    for (const ends of links) linked.push(reversed(this.way(ends, `link ${ends}`))); // from the cause, so that dashes of a common beginning coincide
    const spreads = marked?.isCounted ? e => scene.bundle(e).some(one => marked.nodes.has(scene.from[one]) && marked.nodes.has(scene.to[one])) : () => false; // from one marked object to another
    let looked = 0;
    for (const e of scene.lines) {
      if (++looked % 2000 === 0) yield;
      const route = this.route(e), end = route.length;
      route.heads = this.headsOf(e);
      const x = Math.min(route[0], route[end - 2]), y = Math.min(route[1], route[end - 1]);
      if (end === 8 && !sees(x - 40, y, Math.abs(route[0] - route[end - 2]) + 80, Math.abs(route[1] - route[end - 1]) + 1)) continue;
      if (spreads(e)) strong[layerOf(e)].push(route);
      else if (marked && marked.edges.has(e)) { if (always !== marked.edges) strong[layerOf(e)].push(route); }
      else if (scene.lines.length > CROWDED && (isWithin(...scene.ends(e)) || scene.back.has(e))) quiet.push(route);
      else if (!marked && scene.isEffect(e)) effects.push(route);
      else runs[layerOf(e)].push(route);
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
        for (const route of routes) {
          const [isFirst, isLast] = route.heads || [true, false], [cx, cy, x, y] = route.slice(-4);
          if (isFirst) head(...route.slice(0, 4));
          if (isLast) head(x, y, cx, cy);
        }
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
    yield* stroke(effects, colours.mark, Math.max(1.2, 0.9 / k), many ? 0.35 : 0.75);
    yield* stroke(quiet, colours.soft, Math.max(0.7, 0.5 / k), scene.lines.length > 300 ? 0.07 : 0.15);
    for (let n = 0; n < strong.length; n++) { // orders have their own colours, as they are no effects
      context.setLineDash(data.layers[n][0] === "reference" ? [] : DASHES[n] || []);
      yield* stroke(strong[n], data.layers[n][0] === "reference" ? colours.mark : colours[data.layers[n][0]], Math.max(2.2, 1.4 / k), 1);
    }
    context.setLineDash([]);
    if (hasHeads) this.between(context, k, sees);
    context.setLineDash([6 / Math.min(1, k), 3 / Math.min(1, k)]);
    yield* stroke(linked, colours.mark, marked ? Math.max(1.6, 1.2 / k) : Math.max(1.2, 0.9 / k), marked ? 1 : linked.length > FEW_LINKED ? 0.4 : 0.75);
    context.setLineDash([]);
  }
  /** Whether a line has a head at what waits, and at what it waits for: of two that wait for each other only where a marked change arrives. */
  headsOf(e) {
    const { scene, marked } = this;
    if (!scene.mutual.has(e)) return [true, false];
    const arrives = one => marked?.isCounted && marked.nodes.has(scene.from[one]) && marked.nodes.has(scene.to[one]) && scene.isReference(one);
    const heads = scene.ends(e).map(end => scene.bundle(e).some(one => scene.stands[scene.from[one]] === end && arrives(one)));
    return heads.includes(true) ? heads : [true, true];
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
  /** From the causes of the chosen object to it, or from those that are marked, or from all while nothing is, to what they set off, where no line that is drawn leads there: [thing, cause]. */
  links() {
    const { marked, chosen, scene: { routes } } = this, { last } = this; // the same until something is marked or arranged anew
    if (last?.routes !== routes || last.marked !== marked || last.chosen !== chosen) this.last = { routes, marked, chosen, links: this.linksNow() };
    return this.last.links;
  }
  linksNow() {
    const { scene, marked } = this, sources = [...marked?.sources || []].filter(node => !scene.hidden[node]);
    if (marked?.origins?.length && scene.where.has(this.chosen)) {
      const drawn = new Set([...marked.edges].flatMap(e => scene.bundle(e)).filter(e => scene.stands[scene.from[e]] === this.chosen).map(e => scene.stands[scene.to[e]])); // by an arrow that reads it
      return marked.origins.filter(cause => !scene.hidden[cause] && !drawn.has(scene.stands[cause])).map(cause => [this.chosen, scene.stands[cause]]);
    }
    if (marked?.causes) { // of the objects that a filter marks
      const links = marked.causes.flatMap(cause => scene.joined(scene.startsOf(scene.effects(cause).filter(node => marked.nodes.has(node)), [cause])));
      return links.length > MOST_LINKED ? [] : links;
    }
    if (!marked) return scene.links;
    return sources.length ? [...byKey(scene.startsOf([...marked.nodes], sources), ([, source]) => source).values()].flatMap(own => scene.joined(own)) : [];
  }
  /** The way of a line in curves, from what waits to what it waits for: its start, then two controls and an end each. */
  route(e) { return this.way(this.scene.ends(e), e); }
  way(ends, key) {
    const { scene } = this;
    let found = scene.routes.get(key);
    if (!found) scene.routes.set(key, found = scene.lines.length <= ROUTED ? routed(scene, ends, scene.mutual.has(key)) : curved(scene, ends));
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
  pill(context, text, right, y, k, colour = this.colours.mark, isHollow = false) {
    const size = sizeOf(k) * 0.88, width = Math.max(1.4, text.length * LETTER_OF + 0.7) * size;
    if (size * k < READABLE * 0.88) return;
    context.fillStyle = isHollow ? this.colours.paper : colour;
    context.beginPath(); context.roundRect(right - width, y - size * 0.7, width, size * 1.4, size * 0.7); context.fill();
    if (isHollow) { context.strokeStyle = colour; context.lineWidth = 1.5 / Math.max(k, 0.4); context.stroke(); }
    context.font = `600 ${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
    context.textBaseline = "middle"; context.fillStyle = isHollow ? colour : this.colours.paper;
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
    const taken = isDouble ? this.numbers(context, [MOST_NUMBERS, SHOWN_NUMBERS, 1].map(most => this.scene.numbersOf(thing, most)), x + w - 5, y + h * 0.27, k, w - 15 - Math.min(type.length, SHORT_NAME) * sizeOf(k) * LETTER_OF * SMALLER / CONDENSED) : 0;
    if (isDouble) this.letters(context, type, x + 9, y + h * 0.27, w - 15 - taken, this.colours.quiet, k, "", SMALLER);
    const middle = y + h * (isDouble ? 0.7 : 0.5), right = this.badges(context, this.scene.badges(thing), x + w - 6, middle, k, 0.6);
    this.letters(context, name, x + 9, middle, right - x - 9, this.colours.ink, k, isDouble ? "600 " : "");
  }
  /** The numbers of causes and, if there is room, of those of which something is an effect, up to a place on the right; the room that they take. */
  numbers(context, [all, both, few], right, y, k, room) {
    let taken = 0;
    const wide = text => (text.length * LETTER_OF + 1.2) * sizeOf(k);
    for (const [at, short] of both.entries()) {
      const fits = text => text && taken + wide(text) + (at ? 0 : wide(few[1])) <= room, text = [all[at], short, few[at]].find(fits) || (at ? "" : short);
      if (text) { this.pill(context, text, right - taken, y, k, this.colours.mark, at > 0); taken += wide(text); }
    }
    return taken;
  }
  /** The numbers of causes at a folded box, as [those that it contains, those with effects in it]: many, some and few of them; while a cause is chosen, its number alone. */
  numbersIn(b) {
    const found = this.marked?.isCounted ? chosenCause() : undefined;
    if (!found?.number) return [MOST_NUMBERS, SHOWN_NUMBERS, 1].map(most => this.scene.numbersInside(b, most));
    const isInside = this.scene.nodesIn(b).some(node => this.scene.causesShown(node).some(cause => found.causes.has(cause))), own = `${found.number}`;
    return new Array(3).fill(!this.marked.boxes.has(b) ? ["", ""] : isInside ? [own, ""] : ["", own]);
  }
  /** The title of a box: its name, then the numbers of its changes, each on its colour. */
  title(context, b, sign, x, y, room, k) {
    const size = sizeOf(k), counts = this.marked?.touched?.get(b)?.map(badge) || this.scene.counts(b); // of a cause only what it sets off
    if (size * k < READABLE) return;
    const wide = text => text.length * size * LETTER_OF + 12, named = `${sign && `${sign} `}${counts.length ? this.scene.boxName(b) : this.scene.boxTitle(b)}`;
    if (!this.scene.isClosed(b)) room = Math.min(room, counts.reduce((all, [, text]) => all + wide(text), wide(named))); // beside the name
    if (!this.scene.isClosed(b)) for (const colour of ["paper", ...this.scene.outward(b).fill("box")]) { context.fillStyle = this.colours[colour]; context.fillRect(x - 3, y - size * 0.75, room + 6, size * 1.5); } // edges lead behind it
    if (!this.scene.isClosed(b) && this.marked && !this.marked.boxes.has(b)) context.globalAlpha = FAINT;
    const numbers = this.scene.isClosed(b) ? this.numbersIn(b) : [[], [], []];
    let right = this.badges(context, counts, x + room, y, k);
    right -= this.numbers(context, numbers, right - 2, y, k, right - x - 4 - Math.min(named.length, SHORT_NAME) * size * LETTER_OF / CONDENSED);
    const isLong = named.length * size * LETTER_OF > (right - x - 4) * CONDENSED; // its key says more than its kind
    this.letters(context, isLong ? named.replace(/^(\W*)module\./, "$1") : named, x, y, right - x - 4, this.colours.ink, k, "600 ");
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
  /** Text around the middle of a line, larger than usual where the scale is small; condensed, or without a part behind its middle, if it is too long. */
  letters(context, text, x, y, room, colour, k, weight = "", part = 1) {
    const size = sizeOf(k) * part;
    if (size * k < READABLE) return;
    context.font = `${weight}${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
    context.textBaseline = "middle";
    context.fillStyle = colour;
    context.fillText(cut(text, Math.floor(room / (size * LETTER_OF) * CONDENSED)), x, y, room);
  }
}
