// What a point is shows under the pointer; a press on an entry of the legend switches its
// series off and on, with shift all others. The pictures are the same without.
(function () {
  'use strict';
  for (const figure of document.querySelectorAll('.figures figure')) {
    const tip = document.createElement('div');
    tip.className = 'tip';
    tip.hidden = true;
    figure.appendChild(tip);
    const of = function (name) { return Array.from(figure.querySelectorAll('[data-' + name + ']')); };
    const off = new Set();

    function show() {
      for (const g of of('series')) g.classList.toggle('off', off.has(g.dataset.series));
      for (const g of of('entry')) g.setAttribute('aria-pressed', String(!off.has(g.dataset.entry)));
    }
    for (const entry of of('entry')) {
      const name = entry.dataset.entry;
      entry.setAttribute('role', 'button');
      entry.setAttribute('tabindex', '0');
      entry.setAttribute('aria-label', name);
      const press = function (event) {
        if (event.type === 'keydown' && event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        if (event.shiftKey) {
          off.clear();
          for (const other of of('series')) if (other.dataset.series !== name) off.add(other.dataset.series);
        } else if (!off.delete(name)) off.add(name);
        show();
      };
      entry.addEventListener('click', press);
      entry.addEventListener('keydown', press);
    }
    show();

    figure.addEventListener('pointerleave', function () { tip.hidden = true; });
    figure.addEventListener('pointermove', function (event) {
      let best = [], least = 24 * 24;
      for (const point of of('tip')) {
        const series = point.closest('[data-series]');
        if (series && off.has(series.dataset.series)) continue;
        const r = point.getBoundingClientRect();
        if (!r.width && !r.height) continue; // of the picture that is not shown
        const dx = Math.max(r.left - event.clientX, 0, event.clientX - r.right);
        const dy = Math.max(r.top - event.clientY, 0, event.clientY - r.bottom);
        const d = dx * dx + dy * dy;
        if (d < least) best = [];
        if (d <= least) { least = d; best.push(point); }
      }
      tip.hidden = !best.length;
      if (!best.length) return;
      tip.textContent = best.slice(0, 6).map(function (point) { return point.dataset.tip; }).join('\n');
      const box = figure.getBoundingClientRect(), at = best[0].getBoundingClientRect();
      tip.style.left = Math.max(0, Math.min(at.right - box.left + 6, box.width - tip.offsetWidth - 4)) + 'px';
      tip.style.top = Math.max(0, at.top - box.top - tip.offsetHeight - 6) + 'px';
    });
  }
})();
