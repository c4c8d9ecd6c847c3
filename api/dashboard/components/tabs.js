// Shows the sections of `.tabs` one at a time (WAI-ARIA tabs pattern). The selected tab is remembered on other pages.
const CHOICE = 'tab';

for (const [group, tabs] of document.querySelectorAll('[data-tabs]').entries()) {
  const list = document.createElement('div');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', tabs.dataset.tabs);
  const panels = [...tabs.querySelectorAll(':scope > section')];
  const buttons = panels.map((panel, index) => {
    const heading = panel.querySelector('h3');
    const button = document.createElement('button');
    button.type = 'button';
    button.id = `tab-${group}-${index}`;
    button.textContent = heading.textContent;
    button.setAttribute('role', 'tab');
    panel.id = `panel-${group}-${index}`;
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', button.id);
    button.setAttribute('aria-controls', panel.id);
    heading.remove();
    return button;
  });
  const select = (chosen) => {
    for (const [index, button] of buttons.entries()) {
      button.setAttribute('aria-selected', String(index === chosen));
      button.tabIndex = index === chosen ? 0 : -1;
      panels[index].hidden = index !== chosen;
    }
  };
  for (const [index, button] of buttons.entries()) {
    button.addEventListener('click', () => {
      select(index);
      localStorage.setItem(CHOICE, button.textContent);
    });
    button.addEventListener('keydown', ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (step === undefined) return;
      const next = buttons[(index + step + buttons.length) % buttons.length];
      next.focus();
      next.click();
    });
  }
  list.append(...buttons);
  tabs.prepend(list);
  const kept = buttons.findIndex((button) => button.textContent === localStorage.getItem(CHOICE));
  select(Math.max(0, kept));
}
