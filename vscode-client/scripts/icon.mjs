// Draws images/icon.png: a broken graph, and the piece that joins it again.
//
//     node scripts/icon.mjs
//
// Shapes are distances, sampled 4 x 4 times a pixel; the file is written as PNG by hand, so nothing is to be installed.

import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync, crc32 } from "node:zlib";

const SIZE = 256;
const SAMPLES = 4;
const BACK = [[23, 33, 47], [36, 52, 78]];
const LINE = [140, 160, 190];
const NODE = [226, 235, 247];
const MEND = [238, 118, 52];

const circle = (x, y, r) => (px, py) => Math.hypot(px - x, py - y) - r;
const ring = (x, y, r, width) => (px, py) => Math.abs(Math.hypot(px - x, py - y) - r) - width / 2;
const segment = (ax, ay, bx, by, width) => (px, py) => {
  const [dx, dy] = [bx - ax, by - ay];
  const t = Math.min(1, Math.max(0, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(px - ax - t * dx, py - ay - t * dy) - width / 2;
};
const rounded = (x, y, half, radius) => (px, py) => {
  const [qx, qy] = [Math.abs(px - x) - half + radius, Math.abs(py - y) - half + radius];
  return Math.hypot(Math.max(qx, 0), Math.max(qy, 0)) + Math.min(Math.max(qx, qy), 0) - radius;
};

// later shapes lie over earlier ones
const [top, middle, bottom] = [70, 128, 186];
const [left, inLeft, inRight, right] = [46, 92, 164, 210];
const shapes = [
  [segment(left, top, inLeft, middle, 12), LINE],
  [segment(left, bottom, inLeft, middle, 12), LINE],
  [segment(inRight, middle, right, top, 12), LINE],
  [segment(inRight, middle, right, bottom, 12), LINE],
  [segment(inLeft, middle, inRight, middle, 18), MEND],
  ...[top, bottom].flatMap((y) => [left, right].map((x) => [circle(x, y, 20), NODE])),
  ...[inLeft, inRight].flatMap((x) => [
    [circle(x, middle, 24), NODE],
    [ring(x, middle, 21, 10), MEND],
  ]),
];
const card = rounded(128, 128, 126, 52);

function sample(x, y) {
  if (card(x, y) > 0) return [0, 0, 0, 0];
  const t = y / SIZE;
  let colour = BACK[0].map((from, i) => from * t + BACK[1][i] * (1 - t));
  for (const [distance, own] of shapes) if (distance(x, y) <= 0) colour = own;
  return [...colour, 255];
}

function pixel(px, py) {
  const sum = [0, 0, 0, 0];
  for (let i = 0; i < SAMPLES * SAMPLES; i++) {
    const x = px + ((i % SAMPLES) + 0.5) / SAMPLES;
    const y = py + (Math.floor(i / SAMPLES) + 0.5) / SAMPLES;
    const [r, g, b, a] = sample(x, y);
    [r * a, g * a, b * a, a].forEach((value, k) => (sum[k] += value));
  }
  const alpha = sum[3];
  if (alpha === 0) return [0, 0, 0, 0];
  return [...sum.slice(0, 3).map((value) => Math.round(value / alpha)), Math.round(alpha / SAMPLES ** 2)];
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

const rows = Buffer.alloc(SIZE * (1 + 4 * SIZE)); // each row begins with its filter, 0
for (let y = 0; y < SIZE; y++) {
  for (let x = 0; x < SIZE; x++) rows.set(pixel(x, y), y * (1 + 4 * SIZE) + 1 + 4 * x);
}
const header = Buffer.alloc(13);
header.writeUInt32BE(SIZE, 0);
header.writeUInt32BE(SIZE, 4);
header.set([8, 6], 8); // 8 bits, RGBA
const png = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  chunk("IHDR", header),
  chunk("IDAT", deflateSync(rows, { level: 9 })),
  chunk("IEND", Buffer.alloc(0)),
]);
writeFileSync(join(dirname(dirname(fileURLToPath(import.meta.url))), "images", "icon.png"), png);
