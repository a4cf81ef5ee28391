// Colours the pictures of networks: time-lapses by the interval that the slider is
// at, maps by the load that is chosen, and shows the map of the variant that is
// chosen. Without this script the page shows pictures of some intervals, and every
// variant at its highest load.
(function () {
  function colour(fraction) {
    const x = fraction * (loadColours.length - 1), i = Math.min(Math.floor(x), loadColours.length - 2);
    const a = loadColours[i], b = loadColours[i + 1];
    return 'rgb(' + ['R', 'G', 'B'].map(function (k) { return Math.round(a[k] + (x - i) * (b[k] - a[k])); }).join(', ') + ')';
  }

  function start(figure) {
    const frames = figure.dataset.frames.split(' ');
    const labels = figure.dataset.labels.split('|');
    const top = Number(figure.dataset.top), digits = Number(figure.dataset.digits);
    const most = Math.pow(36, digits) - 1;
    const slider = figure.querySelector('input');
    const button = figure.querySelector('button');
    const label = figure.querySelector('output');
    const tables = figure.querySelectorAll('[data-frame]');
    const shapes = Array.from(figure.querySelectorAll('.drawn svg title'), function (title) {
      const style = title.nextElementSibling.style;
      return { title: title, style: style, paint: style.stroke ? 'stroke' : 'fill', name: title.textContent.slice(0, title.textContent.lastIndexOf(':')) };
    });
    let timer = 0;
    function show() {
      const levels = frames[slider.value];
      shapes.forEach(function (s, i) {
        const level = parseInt(levels.slice(i * digits, (i + 1) * digits), 36);
        s.style[s.paint] = colour(level / most);
        s.title.textContent = s.name + ': about ' + (top * level / most).toFixed(3);
      });
      label.textContent = labels[slider.value];
      tables.forEach(function (t) { t.hidden = t.dataset.frame !== slider.value; });
    }
    function stop() {
      clearInterval(timer);
      timer = 0;
      if (button) button.textContent = 'Play';
    }
    slider.addEventListener('input', function () { stop(); show(); });
    if (button) button.addEventListener('click', function () {
      if (timer) { stop(); return; }
      button.textContent = 'Pause';
      timer = setInterval(function () {
        slider.value = (Number(slider.value) + 1) % frames.length;
        show();
      }, 250);
    });
    figure.classList.add('live');
    show();
  }

  for (const figure of document.querySelectorAll('figure[data-frames]')) start(figure);

  for (const choice of document.querySelectorAll('.choose')) {
    const select = choice.querySelector('select');
    const figures = Array.from(choice.nextElementSibling.children);
    function show() {
      figures.forEach(function (figure, i) { figure.classList.toggle('other', i !== select.selectedIndex); });
    }
    select.addEventListener('change', show);
    choice.hidden = false;
    show();
  }
})();
