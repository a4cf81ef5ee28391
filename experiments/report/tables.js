// Sorts tables by the column whose head is pressed, and shows the rows that hold all
// words of the field above.
(function () {
  function number(cell) {
    const text = cell.replace(/[,%±].*$/, '').trim();
    return text === '' ? NaN : Number(text);
  }

  function compare(a, b) {
    const x = number(a), y = number(b);
    if (!isNaN(x) && !isNaN(y)) return x - y;
    if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
    return a.localeCompare(b, 'en', { numeric: true });
  }

  for (const holder of document.querySelectorAll('.scroll')) {
    const table = holder.querySelector('table');
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const heads = Array.from(table.tHead.rows[0].cells);
    if (rows.length < 2) continue;
    heads.forEach(function (head, column) {
      head.tabIndex = 0;
      head.classList.add('sortable');
      head.title = 'sort';
      function sort() {
        const up = head.getAttribute('aria-sort') !== 'ascending';
        heads.forEach(function (h) { h.removeAttribute('aria-sort'); });
        head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        const sorted = rows.map(function (row, i) { return { row: row, text: row.cells[column].textContent.trim(), i: i }; });
        sorted.sort(function (a, b) { return (up ? 1 : -1) * compare(a.text, b.text) || a.i - b.i; });
        for (const s of sorted) body.appendChild(s.row);
      }
      head.addEventListener('click', sort);
      head.addEventListener('keydown', function (event) { if (event.key === 'Enter') sort(); });
    });
    if (rows.length < 6) continue;
    const line = document.createElement('div');
    line.className = 'filter';
    const field = document.createElement('input');
    field.type = 'search';
    field.placeholder = 'rows with these words';
    field.setAttribute('aria-label', 'show only rows with these words');
    const shown = document.createElement('output');
    line.append(field, shown);
    holder.before(line);
    const texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
    field.addEventListener('input', function () {
      const words = field.value.toLowerCase().split(/\s+/);
      let n = 0;
      rows.forEach(function (row, i) {
        row.hidden = !words.every(function (w) { return texts[i].includes(w); });
        if (!row.hidden) n++;
      });
      shown.textContent = n === rows.length ? '' : n + ' of ' + rows.length + ' rows';
    });
  }
})();
