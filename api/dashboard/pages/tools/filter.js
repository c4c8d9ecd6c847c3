// Filters a list while the user types; without this script the form does the same.
for (const field of document.querySelectorAll('[data-filter]')) {
  const items = [...document.querySelectorAll(field.dataset.filter)];
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().trim().split(/\s+/);
    for (const item of items) item.hidden = !words.every((word) => item.dataset.words.includes(word));
    for (const group of document.querySelectorAll('.group'))
      group.hidden = group.querySelector('li:not([hidden])') === null;
  });
}
