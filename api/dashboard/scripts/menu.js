// On a narrow screen the menu is one row: shows the entry of the current page in it.
const current = document.querySelector('.menu [aria-current]');
const row = document.querySelector('.menu');
if (current !== null && row.scrollWidth > row.clientWidth)
  row.scrollLeft = current.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
