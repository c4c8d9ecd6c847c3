// Scrolls the sidebar to the current page, which can be below its visible part.
const side = document.querySelector('.side');
const current = side?.querySelector('[aria-current]');
if (current) side.scrollTop = current.offsetTop - side.clientHeight / 2;
