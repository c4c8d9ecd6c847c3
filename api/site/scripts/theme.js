// Applies the colours that the visitor has chosen. Pages of the site have a button that changes them.
const NAME = 'colours';
const SYSTEM = '(prefers-color-scheme: dark)';
const rules = [...document.styleSheets]
  .flatMap(({ cssRules }) => [...cssRules])
  .filter((rule) => rule instanceof CSSMediaRule && rule.media.mediaText.includes('prefers-color-scheme'));
const button = document.querySelector('.scheme');
const isChoice = (value) => value === 'light' || value === 'dark';

// Browsers can forbid the storage; the choice then lasts until the next page.
const read = () => {
  try {
    return localStorage.getItem(NAME);
  } catch {
    return null;
  }
};
const save = (choice) => {
  try {
    localStorage.setItem(NAME, choice);
  } catch {}
};

let choice = read();
const isDark = () => (isChoice(choice) ? choice === 'dark' : matchMedia(SYSTEM).matches);
const apply = () => {
  button?.setAttribute('aria-pressed', String(isDark()));
  if (!isChoice(choice)) return;
  for (const { media } of rules) media.mediaText = choice === 'dark' ? 'all' : 'not all';
  document.documentElement.style.colorScheme = choice;
};
apply();

button?.addEventListener('click', () => {
  choice = isDark() ? 'light' : 'dark';
  save(choice);
  apply();
});
