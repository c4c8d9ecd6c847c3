// On a narrow screen the menu is one row. Scrolls it to the entry of the current page.
const current = document.querySelector('.menu [aria-current]');
const row = document.querySelector('.menu');
if (current !== null && row.scrollWidth > row.clientWidth)
  row.scrollLeft = current.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
