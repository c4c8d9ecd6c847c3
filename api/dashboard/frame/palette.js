// The command palette: Ctrl-K or a button opens a search over pages, tools and call ids.
const LONGEST = 8;

const menu = [...document.querySelectorAll('.menu a')].map((link) => ({
  name: link.textContent,
  path: link.getAttribute('href'),
}));

if (menu.length > 0) {
  const dialog = document.createElement('dialog');
  dialog.className = 'palette';
  dialog.setAttribute('aria-label', 'Go to');
  const field = document.createElement('input');
  field.type = 'text';
  field.autocomplete = 'off';
  field.placeholder = 'Page, tool, call id or request id';
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-label': 'Go to',
    'aria-expanded': 'true',
    'aria-controls': 'palette-list',
    'aria-autocomplete': 'list',
  }))
    field.setAttribute(name, value);
  const list = document.createElement('ul');
  list.id = 'palette-list';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Results');
  dialog.append(field, list);
  document.body.append(dialog);

  let entries = menu;
  let found = [];
  let current = 0;

  const mark = (index) => {
    current = index;
    for (const [at, option] of [...list.children].entries())
      option.setAttribute('aria-selected', String(at === index));
    field.setAttribute('aria-activedescendant', found.length === 0 ? '' : `palette-${index}`);
    list.children[index]?.scrollIntoView({ block: 'nearest' });
  };

  const show = () => {
    const text = field.value.trim();
    const words = text.toLowerCase().split(/\s+/);
    found = entries
      .filter(({ name, path }) => words.every((word) => `${name} ${path}`.toLowerCase().includes(word)))
      .slice(0, LONGEST);
    if (/^(req_[\w-]+|[0-9a-f]{8}-[0-9a-f-]{27})$/.test(text))
      found = [{ name: `Call ${text}`, path: `/dashboard/calls?${new URLSearchParams({ id: text })}` }];
    list.replaceChildren(
      ...found.map(({ name, path }, index) => {
        const option = document.createElement('li');
        option.id = `palette-${index}`;
        option.setAttribute('role', 'option');
        option.textContent = name;
        option.addEventListener('click', () => location.assign(path));
        return option;
      }),
    );
    mark(0);
  };

  const open = async () => {
    if (dialog.open) return dialog.close();
    field.value = '';
    dialog.showModal();
    show();
    if (entries !== menu) return;
    const response = await fetch('/dashboard/tools.json').catch(() => null);
    const tools = response?.ok ? await response.json() : [];
    entries = [
      ...menu,
      ...tools.map(({ name, title }) => ({ name: `${title}: ${name}`, path: `/dashboard/tools/${name}` })),
    ];
    show();
  };

  field.addEventListener('input', show);
  field.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) mark((current + step + found.length) % found.length);
    else if (event.key === 'Enter' && found[current]) location.assign(found[current].path);
    else return;
    event.preventDefault();
  });
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    open();
  });

  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'plain goto';
  button.append('Go to… ', Object.assign(document.createElement('kbd'), { textContent: 'Ctrl K' }));
  button.addEventListener('click', open);
  document.querySelector('.who')?.prepend(button);
}
