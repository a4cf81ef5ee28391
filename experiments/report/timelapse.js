// Colours the picture of each time-lapse by the interval that its slider is at.
// Without this script the page shows pictures of some intervals instead.
for (const lapse of document.querySelectorAll('.timelapse')) {
  const frames = lapse.dataset.frames.split(' ');
  const colours = lapse.dataset.colours.split(' ');
  const labels = lapse.dataset.labels.split('|');
  const top = Number(lapse.dataset.top);
  const slider = lapse.querySelector('input');
  const button = lapse.querySelector('button');
  const label = lapse.querySelector('output');
  const shapes = Array.from(lapse.querySelectorAll('.player svg g title'), function (title) {
    const shape = title.parentNode;
    const name = title.textContent;
    return { title, shape, paint: shape.tagName === 'line' ? 'stroke' : 'fill', name: name.slice(0, name.lastIndexOf(':')) };
  });
  let timer = 0;
  function show() {
    const levels = frames[slider.value];
    shapes.forEach(function (s, i) {
      const level = parseInt(levels[i], 36);
      s.shape.setAttribute(s.paint, colours[level]);
      s.title.textContent = s.name + ': about ' + (top * level / (colours.length - 1)).toFixed(3);
    });
    label.textContent = labels[slider.value];
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    button.textContent = 'Play';
  }
  slider.addEventListener('input', function () { stop(); show(); });
  button.addEventListener('click', function () {
    if (timer) { stop(); return; }
    button.textContent = 'Pause';
    timer = setInterval(function () {
      slider.value = (Number(slider.value) + 1) % frames.length;
      show();
    }, 250);
  });
  lapse.classList.add('live');
  show();
}
