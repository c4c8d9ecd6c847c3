// Lets a file be dropped on the form of a batch, and says that it is being sent.
for (const zone of document.querySelectorAll('[data-drop]')) {
  const field = zone.querySelector('[type="file"]');
  const most = Number(zone.dataset.drop);

  const check = () => {
    const [file] = field.files;
    field.setCustomValidity(file !== undefined && file.size > most ? 'The file is too large.' : '');
    if (file !== undefined) field.reportValidity();
  };
  field.addEventListener('change', check);

  const mark = (isOver) => zone.classList.toggle('over', isOver);
  zone.addEventListener('dragover', (event) => {
    event.preventDefault();
    mark(true);
  });
  zone.addEventListener('dragleave', () => mark(false));
  zone.addEventListener('drop', (event) => {
    event.preventDefault();
    mark(false);
    const [file] = event.dataTransfer.files;
    if (file === undefined) return;
    const one = new DataTransfer();
    one.items.add(file);
    field.files = one.files;
    check();
  });

  const form = field.form;
  const button = form.querySelector('[data-busy]');
  const label = button.querySelector('span');
  const text = label.textContent;
  form.addEventListener('submit', () => {
    label.textContent = button.dataset.busy;
    // Some browsers cancel the submission if its handler disables the button synchronously.
    setTimeout(() => {
      button.disabled = true;
    });
  });
  // When the user goes back, the browser may restore the page from its cache with the button still disabled.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    button.disabled = false;
    label.textContent = text;
  });
}
