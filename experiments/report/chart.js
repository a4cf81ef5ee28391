// Draws the figures of the page from their numbers, so that values show under the
// pointer, series can be switched off, axes be logarithmic, and a part be enlarged.
// Without this script the page shows the figures as pictures.
(function () {
  const space = document.querySelector('svg') ? document.querySelector('svg').namespaceURI : '';
  let count = 0;

  function make(parent, name, attributes, text) {
    const e = document.createElementNS(space, name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  }

  function html(parent, name, className, text) {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  }

  // A number as a reader wants it: five digits, and groups of three in long ones.
  function show(x) {
    if (x === null) return 'no value';
    const size = Math.abs(x);
    if (size !== 0 && (size >= 1e9 || size < 1e-4)) return x.toExponential(3);
    return Number(x.toPrecision(size >= 1e5 ? 9 : 5)).toLocaleString('en');
  }

  function ticksOf(from, to, log) {
    const list = [];
    if (log) {
      const few = Math.log10(to / from) < 2;
      for (let e = Math.floor(Math.log10(from)); e <= Math.ceil(Math.log10(to)); e++) {
        for (const d of few ? [1, 2, 5] : [1]) {
          const v = d * Math.pow(10, e);
          if (v >= from * 0.999 && v <= to * 1.001) list.push(v);
        }
      }
      if (list.length > 1) return list;
    }
    let step = Math.pow(10, Math.floor(Math.log10((to - from) / 4)));
    for (const s of [5, 2]) if ((to - from) / (step * s) >= 4) { step *= s; break; }
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to + 1e-9 * step; i++) list.push(Number((i * step).toPrecision(12)));
    return list;
  }

  function rangeOf(values, log, zero) {
    let low = Infinity, high = -Infinity;
    for (const v of values) {
      if (v === null || log && v <= 0) continue;
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
    if (low > high) return null;
    if (log) {
      const margin = high / low < 1.001 ? 2 : Math.pow(high / low, 0.04);
      return [low / margin, high * margin];
    }
    if (low >= 0 && (zero || low <= 0.5 * high)) low = 0;
    const extent = high - low || Math.abs(high) || 1;
    return [low === 0 ? 0 : low - 0.05 * extent, high === 0 ? 0 : high + 0.05 * extent];
  }

  const shapes = {
    1: [4, 0.5, 1.2], 2: [3, 0, 1.3], 3: [4, 0, 1.2], 4: [3, 0.5, 1.3], 5: [6, 0, 1.1],
  };

  // Colours of a scale stand in the element, those of the palette in the style sheet.
  function tinted(e, s) {
    if (s.tint) e.style.color = s.tint;
    return e;
  }

  function mark(parent, s, x, y, state) {
    const shape = shapes[s.marker];
    const attributes = { class: 'mark s' + s.colour + (state === 2 ? ' hollow' : '') + (state === 1 ? ' holed' : '') };
    if (!shape) {
      return tinted(make(parent, 'circle', Object.assign(attributes, { cx: x, cy: y, r: 4 })), s);
    }
    const corners = [];
    for (let i = 0; i < shape[0]; i++) {
      const angle = Math.PI / 2 + 2 * Math.PI * (i + shape[1]) / shape[0];
      corners.push((x + 4 * shape[2] * Math.cos(angle)).toFixed(1) + ',' + (y - 4 * shape[2] * Math.sin(angle)).toFixed(1));
    }
    return tinted(make(parent, 'polygon', Object.assign(attributes, { points: corners.join(' ') })), s);
  }

  function start(figure, chart, title) {
    const view = { logX: !!chart.logX, logY: !!chart.logY, x: null, y: null, off: chart.series.map(function () { return false; }) };
    const many = chart.style === 'curve';
    const bars = chart.style === 'bar', histogram = chart.style === 'histogram';
    const live = html(figure, 'div', 'chart-live');
    figure.insertBefore(live, figure.firstChild);
    if (title) html(live, 'p', 'chart-title', title);
    const holder = html(live, 'div', 'chart-holder');
    const svg = make(holder, 'svg', { role: 'img', 'aria-label': title || chart.y });
    const tip = html(holder, 'div', 'tip');
    tip.hidden = true;
    const legend = html(live, 'div', 'chart-legend');
    if (chart.legend) html(legend, 'span', 'chart-legend-title', chart.legend);
    const tools = html(live, 'div', 'chart-tools');

    chart.series.forEach(function (s, i) {
      if (chart.series.length === 1 && !s.name) return;
      const button = html(legend, 'button', 'series s' + s.colour);
      button.type = 'button';
      const swatch = make(button, 'svg', { width: 26, height: 12, viewBox: '0 0 26 12', 'aria-hidden': 'true' });
      if (bars || histogram) make(swatch, 'rect', { x: 4, y: 1, width: 18, height: 10, class: 'bar s' + s.colour });
      else {
        if (chart.style !== 'scatter') tinted(make(swatch, 'line', { x1: 0, y1: 6, x2: 26, y2: 6, class: 'curve s' + s.colour, 'stroke-dasharray': (s.dashes || []).join(' ') }), s);
        if (!many) mark(swatch, s, 13, 6, 0);
      }
      html(button, 'span', '', s.name);
      button.setAttribute('aria-pressed', 'true');
      button.title = 'switch off or on; with Shift, only this one';
      button.addEventListener('click', function (event) {
        if (event.shiftKey) view.off = chart.series.map(function (_, j) { return j !== i; });
        else view.off[i] = !view.off[i];
        legend.querySelectorAll('button').forEach(function (b, j) { b.setAttribute('aria-pressed', String(!view.off[j])); });
        draw();
      });
    });
    const named = {};
    for (const m of chart.marks || []) {
      if (named[m.name]) continue;
      named[m.name] = true;
      html(legend, 'span', 'chart-note', (m.from === m.to ? 'dotted: ' : 'shaded: ') + m.name);
    }
    const states = [0, 0, 0];
    for (const s of chart.series) for (const state of s.state || []) states[state]++;
    if (chart.style === 'line' || chart.style === 'scatter') {
      if (states[1]) html(legend, 'span', 'chart-note', 'with a hole: undecided');
      if (states[2]) html(legend, 'span', 'chart-note', 'hollow: saturated');
    }

    function toggle(name, key) {
      const label = html(tools, 'label', '');
      const box = html(label, 'input', '');
      box.type = 'checkbox';
      box.checked = view[key];
      label.appendChild(document.createTextNode(' ' + name));
      box.addEventListener('change', function () { view[key] = box.checked; view.x = view.y = null; draw(); });
    }
    if (!bars && !chart.xTicks) toggle('log x', 'logX');
    toggle('log y', 'logY');
    const reset = html(tools, 'button', 'reset', 'Whole figure');
    reset.type = 'button';
    reset.addEventListener('click', function () { view.x = view.y = null; draw(); });
    html(tools, 'span', 'hint', 'drag to enlarge');

    let scale = null;
    function draw() {
      const width = Math.max(260, holder.clientWidth || 600), height = Math.round(Math.max(230, Math.min(420, width * 0.6)));
      const clip = 'clip' + (figure.dataset.number || (figure.dataset.number = String(++count)));
      svg.textContent = '';
      svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
      svg.setAttribute('width', width);
      svg.setAttribute('height', height);
      reset.disabled = !view.x;
      const on = chart.series.filter(function (_, i) { return !view.off[i]; });
      const ceiling = chart.ceiling && !view.logY && !view.x ? chart.ceiling : 0;
      const whole = !view.x && view.logX === !!chart.logX && view.logY === !!chart.logY;
      const xs = [], ys = [];
      for (const s of on) {
        s.x.forEach(function (x, i) {
          if (view.logX && !bars && (histogram ? s.xEnd[i] : x) <= 0) return;
          const state = s.state ? s.state[i] : 0;
          if (!(view.logX && x <= 0)) xs.push(x);
          if (histogram) xs.push(s.xEnd[i]);
          if (ceiling && (state === 2 || s.y[i] > ceiling)) { ys.push(ceiling); return; }
          ys.push(s.y[i]);
          const h = s.half && s.half[i] && state !== 2 && s.y[i] !== null ? s.half[i] : 0;
          if (h && bars) ys.push(s.y[i] - h, s.y[i] + h);
        });
      }
      let rx = view.x || (bars ? [-0.5, chart.categories.length - 0.5] : rangeOf(xs, view.logX));
      let ry = view.y || rangeOf(ys, view.logY, bars || histogram);
      if (!rx || !ry) {
        make(svg, 'text', { x: width / 2, y: height / 2, 'text-anchor': 'middle' }, on.length ? 'no value can be shown on a logarithmic axis' : 'all series are switched off');
        scale = null;
        return;
      }
      if (histogram && !view.x && !view.logX) rx = [Math.min.apply(null, xs), Math.max.apply(null, xs)];
      if (chart.yMax && !view.y && !view.logY && !ceiling && chart.yMax > ry[0]) ry[1] = chart.yMax;
      if (whole && chart.xRange) rx = chart.xRange.slice();
      if (whole && chart.yRange) ry = chart.yRange.slice();
      const raised = on.filter(function (s) { return ceiling && (s.state || []).indexOf(2) >= 0; });
      const strip = raised.length ? Math.min(0.3, 0.045 * (raised.length + 1)) : 0;
      if (ceiling) ry = [ry[0], ceiling];
      const yTicks = ticksOf(ry[0], ry[1], view.logY);
      const widest = Math.max.apply(null, yTicks.map(function (v) { return show(v).length; }));
      let foot = 46;
      let turned = false;
      if (bars) {
        const longest = Math.max.apply(null, chart.categories.map(function (c) { return c.length; }));
        turned = longest * 7 > (width - 90) / chart.categories.length;
        if (turned) foot = 40 + Math.min(120, longest * 6);
      }
      const box = { left: 30 + widest * 7, right: width - 12, top: 10, bottom: Math.max(120, height - foot) };
      svg.setAttribute('height', Math.max(height, box.bottom + foot));
      svg.setAttribute('viewBox', '0 0 ' + width + ' ' + Math.max(height, box.bottom + foot));
      const inner = box.top + (box.bottom - box.top) * strip;
      const at = function (v, r, log) { return log ? Math.log(v / r[0]) / Math.log(r[1] / r[0]) : (v - r[0]) / (r[1] - r[0]); };
      const px = function (v) { return box.left + (box.right - box.left) * at(v, rx, view.logX && !bars); };
      const py = function (v) { return box.bottom - (box.bottom - inner) * at(v, ry, view.logY); };
      const defs = make(svg, 'clipPath', { id: clip });
      make(defs, 'rect', { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
      if (strip) make(svg, 'rect', { class: 'strip', x: box.left, y: box.top, width: box.right - box.left, height: inner - box.top });
      for (const v of yTicks) {
        make(svg, 'line', { class: 'grid', x1: box.left, x2: box.right, y1: py(v), y2: py(v) });
        make(svg, 'text', { x: box.left - 6, y: py(v) + 4, 'text-anchor': 'end' }, show(v));
      }
      if (bars) {
        const every = Math.ceil(13 * chart.categories.length / (box.right - box.left));
        chart.categories.forEach(function (name, i) {
          const x = px(i);
          if (turned && i % every) return;
          if (turned) make(svg, 'text', { x: x + 4, y: box.bottom + 8, 'text-anchor': 'end', transform: 'rotate(-90 ' + (x + 4) + ' ' + (box.bottom + 8) + ')' }, name.length > 20 ? name.slice(0, 19) + '…' : name);
          else make(svg, 'text', { x: x, y: box.bottom + 17, 'text-anchor': 'middle' }, name);
        });
      } else {
        let last = -Infinity;
        const ticks = chart.xTicks ? chart.xTicks.filter(function (t) { return t.value >= rx[0] && t.value <= rx[1]; })
          : ticksOf(rx[0], rx[1], view.logX).map(function (v) { return { value: v, label: show(v) }; });
        for (const t of ticks) {
          const x = px(t.value);
          make(svg, 'line', { class: 'grid', x1: x, x2: x, y1: box.top, y2: box.bottom });
          if (x - last < 7 * t.label.length + 6) continue;
          last = x;
          make(svg, 'text', { x: x, y: box.bottom + 17, 'text-anchor': 'middle' }, t.label);
        }
      }
      make(svg, 'text', { class: 'label', x: (box.left + box.right) / 2, y: Math.max(height, box.bottom + foot) - 6, 'text-anchor': 'middle' }, chart.x);
      const middle = (box.top + box.bottom) / 2;
      make(svg, 'text', { class: chart.y.length * 6.6 > box.bottom ? '' : 'label', x: 13, y: middle, 'text-anchor': 'middle', transform: 'rotate(-90 13 ' + middle + ')' }, chart.y);
      const area = make(svg, 'g', { 'clip-path': 'url(#' + clip + ')' });
      for (const m of chart.marks || []) {
        const hue = m.colour >= 0 ? ' s' + m.colour : '';
        const a = m.vertical ? px(m.from) : py(m.to), b = m.vertical ? px(m.to) : py(m.from);
        if (m.from !== m.to) {
          make(area, 'rect', m.vertical ? { class: 'zone' + hue, x: a, y: box.top, width: b - a, height: box.bottom - box.top } : { class: 'zone' + hue, x: box.left, y: a, width: box.right - box.left, height: b - a });
          continue;
        }
        make(area, 'line', m.vertical ? { class: 'known' + hue, x1: a, x2: a, y1: box.top, y2: box.bottom } : { class: 'known' + hue, x1: box.left, x2: box.right, y1: a, y2: a });
        if (m.vertical) make(area, 'text', { class: 'known-label' + hue, x: a - 3, y: box.bottom - 4, transform: 'rotate(-90 ' + (a - 3) + ' ' + (box.bottom - 4) + ')' }, m.label);
        else make(area, 'text', { class: 'known-label' + hue, x: box.left + 4, y: a - 3 }, m.label);
      }
      const spots = [];
      on.forEach(function (s, index) {
        const level = raised.indexOf(s);
        const points = [];
        s.x.forEach(function (x, i) {
          const state = s.state ? s.state[i] : 0;
          let y = s.y[i];
          if (x === null || view.logX && !bars && (histogram ? s.xEnd[i] : x) <= 0) return;
          let top;
          if (ceiling && state === 2) top = inner - (inner - box.top) * (level + 1) / (raised.length + 1);
          else if (y === null || view.logY && y <= 0) return;
          else top = py(y);
          points.push({ x: px(x), y: top, i: i, state: state });
        });
        if (bars) {
          const one = 0.8 / on.length;
          for (const p of points) {
            const left = px(s.x[p.i] - 0.4 + one * index), right = px(s.x[p.i] - 0.4 + one * (index + 1));
            const zero = view.logY ? box.bottom : py(Math.max(ry[0], Math.min(0, ry[1])));
            make(area, 'rect', { class: 'bar s' + s.colour, x: left, y: Math.min(zero, p.y), width: Math.max(0.5, right - left - 1), height: Math.abs(zero - p.y) });
            if (s.half && s.half[p.i]) make(area, 'line', { class: 'whisker', x1: (left + right) / 2, x2: (left + right) / 2, y1: py(Math.max(s.y[p.i] - s.half[p.i], ry[0])), y2: py(s.y[p.i] + s.half[p.i]) });
            spots.push({ x: (left + right) / 2, y: p.y, s: s, i: p.i });
          }
        } else if (histogram) {
          for (const p of points) {
            const left = view.logX && s.x[p.i] <= 0 ? box.left : p.x, right = px(s.xEnd[p.i]);
            make(area, 'rect', { class: 'bin s' + s.colour, x: left, y: p.y, width: Math.max(0.5, right - left), height: Math.max(0, box.bottom - p.y) });
            spots.push({ x: (left + right) / 2, y: p.y, s: s, i: p.i });
          }
        } else {
          const band = points.filter(function (p) { return s.half && s.half[p.i] > 0 && p.state !== 2 && s.y[p.i] !== null; });
          if (band.length > 1 && chart.style === 'line') {
            const upper = band.map(function (p) { return p.x + ',' + py(s.y[p.i] + s.half[p.i]); });
            const lower = band.map(function (p) { return p.x + ',' + py(Math.max(s.y[p.i] - s.half[p.i], ry[0])); }).reverse();
            tinted(make(area, 'polygon', { class: 'band s' + s.colour, points: upper.concat(lower).join(' ') }), s);
          }
          if (chart.style !== 'scatter') tinted(make(area, 'polyline', { class: 'curve s' + s.colour, 'stroke-dasharray': (s.dashes || []).join(' '), points: points.map(function (p) { return p.x + ',' + p.y; }).join(' ') }), s);
          for (const p of points) {
            if (!many) mark(area, s, p.x, p.y, p.state);
            spots.push({ x: p.x, y: p.y, s: s, i: p.i });
          }
        }
      });
      make(svg, 'rect', { class: 'frame', x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
      scale = { box: box, rx: rx, ry: ry, inner: inner, spots: spots, width: width, height: Math.max(height, box.bottom + foot) };
    }

    function place(event) {
      const r = svg.getBoundingClientRect();
      return { x: (event.clientX - r.left) * scale.width / r.width, y: (event.clientY - r.top) * scale.height / r.height };
    }
    function inverse(p) {
      const b = scale.box;
      const u = Math.min(1, Math.max(0, (p.x - b.left) / (b.right - b.left))), v = Math.min(1, Math.max(0, (b.bottom - p.y) / (b.bottom - scale.inner)));
      const value = function (t, r, log) { return log ? r[0] * Math.pow(r[1] / r[0], t) : r[0] + (r[1] - r[0]) * t; };
      return { x: value(u, scale.rx, view.logX && !bars), y: value(v, scale.ry, view.logY) };
    }
    let from = null, rubber = null;
    svg.addEventListener('pointerdown', function (event) {
      if (!scale || event.pointerType === 'touch') return;
      from = place(event);
      rubber = make(svg, 'rect', { class: 'rubber' });
      event.preventDefault();
    });
    window.addEventListener('pointerup', function (event) {
      if (!from) return;
      const to = place(event), start = from;
      from = null;
      if (rubber) rubber.remove();
      if (Math.abs(to.x - start.x) < 6 || Math.abs(to.y - start.y) < 6) return;
      const a = inverse(start), b = inverse(to);
      view.x = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
      view.y = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
      draw();
    });
    svg.addEventListener('dblclick', function () { view.x = view.y = null; draw(); });
    svg.addEventListener('pointerleave', function () { tip.hidden = true; });
    svg.addEventListener('pointermove', function (event) {
      if (!scale) return;
      const p = place(event);
      if (from) {
        for (const [key, value] of [['x', Math.min(p.x, from.x)], ['y', Math.min(p.y, from.y)], ['width', Math.abs(p.x - from.x)], ['height', Math.abs(p.y - from.y)]]) rubber.setAttribute(key, value);
        return;
      }
      let best = null, least = 40 * 40;
      for (const spot of scale.spots) {
        const d = (spot.x - p.x) * (spot.x - p.x) + (spot.y - p.y) * (spot.y - p.y);
        if (d < least) { least = d; best = spot; }
      }
      tip.hidden = !best;
      if (!best) return;
      const s = best.s, i = best.i;
      tip.textContent = '';
      if (s.name) html(tip, 'strong', '', s.name);
      const x = bars ? chart.categories[s.x[i]] : histogram ? show(s.x[i]) + ' to ' + show(s.xEnd[i]) : chart.xTicks ? Number((100 * (1 - Math.pow(10, -s.x[i]))).toPrecision(7)) + ' %' : show(s.x[i]);
      html(tip, 'span', '', chart.x + ': ' + x);
      html(tip, 'span', '', chart.y + ': ' + show(s.y[i]) + (s.half && s.half[i] ? ' ± ' + show(s.half[i]) : ''));
      const state = s.state ? s.state[i] : 0;
      if (state) html(tip, 'span', '', state === 2 ? 'saturated' : 'undecided');
      tip.style.left = Math.min(best.x + 10, scale.width - tip.offsetWidth - 4) + 'px';
      tip.style.top = Math.max(0, best.y - tip.offsetHeight - 10) + 'px';
    });
    figure.classList.add('live');
    draw();
    let width = 0;
    new ResizeObserver(function () {
      if (holder.clientWidth && holder.clientWidth !== width) { width = holder.clientWidth; draw(); }
    }).observe(holder);
  }

  for (const figure of document.querySelectorAll('figure[data-chart]')) {
    const chart = JSON.parse(figure.dataset.chart);
    if (!chart.panels) {
      start(figure, chart, figure.dataset.title);
      continue;
    }
    const live = document.createElement('div');
    live.className = 'chart-live';
    figure.classList.add('wide');
    figure.insertBefore(live, figure.firstChild);
    html(live, 'p', 'chart-title', figure.dataset.title);
    const panels = html(live, 'div', 'panels');
    for (const panel of chart.panels) start(html(panels, 'div', ''), panel, panel.title);
    figure.classList.add('live');
  }
})();
