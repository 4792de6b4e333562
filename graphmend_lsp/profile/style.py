"""The style sheet of pages: light and dark as the reader has it, and for paper always light."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark;
  --sans: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --page: #fff; --text: #1d2430; --soft: #5b6675; --line: #d8dee6; --card: #f5f7fa;
  --link: #0b5cad; --break: #b42318; --break-bg: #fdecea; --fix: #1a7a43; --fix-bg: #e7f6ec; --warn-bg: #fff4d6;
  --eager: #8a94a3; --original: #c2571a; --mended: #1f77b4;
  --g0: #cfe3fa; --g1: #fbdcb8; --g2: #cdeccf; --g3: #e6d3f5; --g4: #fbd0dc; --g5: #c8ecec; --g6: #f1e8a8; --g7:
  #dcd9d2; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #14181f; --text: #e3e8ef; --soft: #9aa6b5; --line:
  #333c48;
  --card: #1d232d; --link: #7db8f5; --break: #ff9c8f; --break-bg: #43211d; --fix: #7fd6a0; --fix-bg: #17331f;
  --warn-bg: #40340f; --eager: #7f8a9a; --original: #e08a4f; --mended: #58a6dd;
  --g0: #1f4468; --g1: #664118; --g2: #225227; --g3: #4b2f63; --g4: #66273b; --g5: #1d5252; --g6: #574d10; --g7:
  #46443d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 var(--sans); }
main { max-width: 1080px; margin: 0 auto; padding: 28px 24px 56px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 10px; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
h3 { font-size: 15px; margin: 22px 0 6px; overflow-wrap: anywhere; }
p { margin: 6px 0; max-width: 80ch; }
a { color: var(--link); }
code, .map td, .map th { font-family: var(--mono); }
code { font-size: 13px; overflow-wrap: anywhere; }
.soft { color: var(--soft); overflow-wrap: anywhere; }
.device { display: inline-block; margin: 6px 0; padding: 2px 10px; border: 1px solid var(--line); border-radius: 12px;
  background: var(--card); font-weight: 600; }
.device.cpu { background: var(--warn-bg); }
.warn, .fail { padding: 10px 14px; border-left: 4px solid var(--break); background: var(--break-bg); max-width: none;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(3, 1fr); gap: 14px; margin: 18px 0 6px; }
.card { padding: 14px 16px; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.card h2 { margin: 0; padding: 0; border: 0; font-size: 13px; font-weight: 600; color: var(--soft); }
.card .big { margin: 2px 0; font-size: 22px; font-weight: 650; line-height: 1.3; }
.card .big .to { color: var(--soft); font-weight: 400; }
.card p { font-size: 13px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: 13px; color: var(--soft); padding: 2px 0 6px; }
.list, .numbers { margin: 12px 0; }
.list { width: 100%; }
.list th, .list td, .numbers th, .numbers td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; font-weight: 400; overflow-wrap: break-word; }
.list thead th, .numbers thead th { font-weight: 600; font-size: 13px; color: var(--soft); white-space: nowrap; }
.list tbody th { min-width: 11em; }
.numbers td, .numbers thead th + th { text-align: right; padding-left: 18px; white-space: nowrap; }
.numbers td:nth-child(4), .numbers thead th:nth-child(4) { text-align: left; }
figure { margin: 14px 0; }
svg { display: block; width: 100%; max-width: 760px; height: auto; }
svg text { fill: var(--text); font: 13px var(--sans); }
svg .eager { fill: var(--eager); } svg .original { fill: var(--original); } svg .mended { fill: var(--mended); }
svg .axis { stroke: var(--line); } svg .whisker { stroke: var(--text); stroke-width: 1.5; }
figcaption { font-size: 13px; color: var(--soft); }
.map { width: 100%; font-size: 12.5px; line-height: 1.5; border: 1px solid var(--line); }
.map td, .map th { padding: 0 8px; text-align: left; vertical-align: top; font-weight: 400; }
.map thead th { border-bottom: 1px solid var(--line); background: var(--card); font-size: 12px; color: var(--soft); }
.map tr > :first-child { width: 1%; text-align: right; color: var(--soft); user-select: none; }
.map .a { width: 1%; white-space: nowrap; border-left: 1px solid var(--line); font-size: 11.5px; min-width: 5em; }
.map tr > :last-child { white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; border-left: 1px solid
  var(--line); }
.map .gap td { color: var(--soft); background: var(--card); text-align: left; }
.map .brk > :first-child { color: var(--break); font-weight: 700; box-shadow: inset 4px 0 0 var(--break); }
.map .brk > :last-child { background: var(--break-bg); }
.map .why td, .map .fix td, .map .say td { font-family: var(--sans); }
.map .why td { color: var(--break); }
.map .fix td { color: var(--fix); }
.map .say td { color: var(--soft); }
.map tr:target > * { outline: 2px solid var(--link); outline-offset: -2px; }
.c0 { background: var(--g0); } .c1 { background: var(--g1); } .c2 { background: var(--g2); } .c3 { background:
  var(--g3); }
.c4 { background: var(--g4); } .c5 { background: var(--g5); } .c6 { background: var(--g6); } .c7 { background:
  var(--g7); }
.key { display: inline-block; padding: 0 7px; margin: 2px 4px 2px 0; border-radius: 3px; font-size: 12.5px; }
dt { font-weight: 600; margin-top: 8px; } dd { margin: 0 0 0 0; max-width: 80ch; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; }
.facts dt { margin: 0; } .facts dd { overflow-wrap: anywhere; }
@media (max-width: 640px) { .cards { grid-template-columns: 1fr; } }
@media print { main { max-width: none; padding: 0; } body { font-size: 11pt; } .card, figure, .list tr {
  break-inside: avoid; }
  h2, h3 { break-after: avoid; } .map [class], .key, .card, .warn, .fail, svg { print-color-adjust: exact;
  -webkit-print-color-adjust: exact; } }
"""
