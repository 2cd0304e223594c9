// The drawing from afar: names of boxes as on a map, and a small picture of all of it with what is in view.
"use strict";
const MAP = { width: 190, height: 130, edge: 12 }; // the small picture at most, and its distance from the corner
const MAPPED = 0.6; // how much of a side of the drawing may be in view for the small picture to be shown
const PLATE = 12; // pixels of letters on a map

/** Names across open boxes with the numbers of their changes, the inner ones where they have room. */
function names(drawing, context, k) {
  const { scene } = drawing, inner = scene.boxes.map(() => []);
  for (let b = 1; b < scene.boxes.length; b++) if (scene.rect[b].shown && scene.rect[b].h && hasRoom(scene, b, k)) inner[scene.homes[b]].push(b);
  const waiting = [0];
  for (const b of waiting) {
    waiting.push(...inner[b]);
    if (b) plate(drawing, context, b, k, inner[b].length > 0);
  }
}
const plateWidth = text => (text.length + 1) * PLATE * LETTER_OF;
/** Whether a box is wide and high enough for its name at a scale. */
function hasRoom(scene, b, k) {
  const { w, h } = scene.rect[b];
  return h * k >= 2 * PLATE && w * k * CONDENSED >= plateWidth(scene.boxName(b));
}
/** The name of a box: in its middle with its numbers, or at its top where names of inner boxes are below it. */
function plate(drawing, context, b, k, isAbove) {
  const { scene, colours } = drawing, { x, y, w, h } = scene.rect[b], text = scene.boxName(b), unit = 1 / k, size = PLATE * unit;
  const counts = drawing.marked?.touched?.get(b)?.map(badge) || scene.counts(b), room = Math.min(w, plateWidth(text) * unit);
  const wide = counts.reduce((all, [, count]) => all + plateWidth(count) * unit, 0), isNumbered = !isAbove && wide > 0 && wide <= w && h * k >= 4 * PLATE;
  const isFaint = drawing.marked && !drawing.marked.boxes.has(b), middle = isAbove ? y + size : y + h / 2 - (isNumbered ? size * 0.8 : 0), left = isAbove ? x : x + (w - room) / 2;
  context.font = `600 ${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
  context.textBaseline = "middle";
  context.globalAlpha = isFaint ? FAINT : 0.9;
  context.fillStyle = colours.paper;
  context.fillRect(left, middle - size * 0.8, room, size * 1.6);
  context.globalAlpha = isFaint ? FAINT : 1;
  context.fillStyle = colours.ink;
  context.fillText(text, left + size * LETTER_OF / 2, middle, room - size * LETTER_OF);
  let at = x + (w - wide) / 2;
  for (const [colour, count] of isNumbered ? counts : []) {
    const width = plateWidth(count) * unit;
    context.fillStyle = colours[colour] || colours.none;
    context.fillRect(at, middle + size * 0.8, width, size * 1.5);
    if (colour === "delete") drawing.hatch(context, at, middle + size * 0.8, width, size * 1.5, k);
    context.fillStyle = colours.ink;
    context.fillText(count, at + size * LETTER_OF / 2, middle + size * 1.55, width);
    at += width;
  }
  context.globalAlpha = 1;
}

/** The small picture in a corner: {x, y, w, h, k} in pixels of the window; null if nearly everything is in view anyway. */
function mapArea(drawing) {
  const { w, h } = drawing.scene.rect[0], { eye, width, height } = drawing;
  if (width < 3 * MAP.width || height < 2.5 * MAP.height || w <= 0 || h <= 0 || width / eye.k / w > MAPPED && height / eye.k / h > MAPPED) return null;
  const k = Math.min(MAP.width / w, MAP.height / h), [wide, tall] = [Math.max(24, w * k), Math.max(24, h * k)];
  const corners = [1, 0].flatMap(isLow => [1, 0].map(isRight => ({ x: isRight ? width - wide - MAP.edge - 18 : MAP.edge + 18, y: isLow ? height - tall - MAP.edge - 18 : MAP.edge + 18, w: wide, h: tall, k })));
  return corners.find(area => !coversMarks(drawing, area)) || corners[0];
}
/** Whether the small picture would be above something that is marked. */
function coversMarks({ scene, marked, eye }, { x, y, w, h }) {
  if (!marked) return false;
  const [left, top, right, foot] = [x - 4, y - 4, x + w + 4, y + h + 4].map((at, n) => (n % 2 ? eye.y : eye.x) + at / eye.k);
  for (const [thing] of scene.where) {
    if (thing >= 0 ? !marked.nodes.has(thing) : scene.isOpen(thing) || !marked.boxes.has(-1 - thing)) continue;
    const [a, b, wide, high] = scene.area(thing);
    if (a < right && a + wide > left && b < foot && b + high > top) return true;
  }
  return false;
}
/** Draw the small picture on the window, with a frame around what is in view. */
function drawMap(drawing, context) {
  const area = mapArea(drawing), { colours, eye, ratio, scene } = drawing;
  if (!area) return;
  const { x, y, w, h, k } = area;
  if (drawing.map?.order !== scene.order || drawing.map.colours !== colours.paper) drawing.map = { order: scene.order, colours: colours.paper, image: mapImage(drawing, area) };
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.paper; context.strokeStyle = colours.soft; context.lineWidth = 1;
  context.fillRect(x - 4, y - 4, w + 8, h + 8); context.strokeRect(x - 4, y - 4, w + 8, h + 8);
  context.drawImage(drawing.map.image, x, y, w, h);
  const clamp = (at, most) => Math.max(-3, Math.min(most + 3, at)), [left, top] = [clamp(eye.x * k, w), clamp(eye.y * k, h)];
  const [right, foot] = [clamp((eye.x + drawing.width / eye.k) * k, w), clamp((eye.y + drawing.height / eye.k) * k, h)];
  context.strokeStyle = colours.ink; context.lineWidth = 2;
  context.strokeRect(x + left, y + top, Math.max(4, right - left), Math.max(4, foot - top));
  context.setTransform(1, 0, 0, 1, 0, 0);
}
function mapImage(drawing, { w, h, k }) {
  const { scene, colours, ratio } = drawing, image = document.createElement("canvas");
  image.width = Math.ceil(w * ratio); image.height = Math.ceil(h * ratio);
  const context = image.getContext("2d");
  context.scale(k * ratio, k * ratio);
  context.fillStyle = colours.box;
  for (const [thing] of scene.where) if (scene.isOpen(thing)) context.fillRect(...scene.area(thing));
  for (const [thing] of scene.where) {
    if (scene.isOpen(thing)) continue;
    const [left, top, width, height] = scene.area(thing), [action] = thing < 0 ? scene.boxes[-1 - thing].tally.keys() : [scene.action[thing]];
    context.fillStyle = thing >= 0 && scene.isDestroyed(thing) || colourOf.get(action) === "delete" ? colours.removed : colours[colourOf.get(action)] || colours.line;
    context.fillRect(left, top, Math.max(width, 1 / k), Math.max(height, 1 / k));
  }
  return image;
}
/** The point of the drawing at a point of the small picture; null beside it. */
function onMap(drawing, [x, y]) {
  const area = mapArea(drawing);
  if (!area || x < area.x - 4 || x > area.x + area.w + 4 || y < area.y - 4 || y > area.y + area.h + 4) return null;
  return [(x - area.x) / area.k, (y - area.y) / area.k];
}
