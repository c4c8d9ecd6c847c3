// Redirects old links to operations of the API reference.
if (location.pathname === '/docs' && location.hash.startsWith('#/'))
  location.replace(`/docs/reference${location.hash}`);

// Adds a copy button to each code block.
const status = document.createElement('p');
status.className = 'skip';
status.setAttribute('role', 'status');
document.body.append(status);

for (const figure of document.querySelectorAll('figure.code')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const copied = await navigator.clipboard.writeText(figure.querySelector('code').textContent).then(
      () => true,
      () => false,
    );
    button.textContent = copied ? 'Copied' : 'Failed';
    status.textContent = copied ? 'Copied' : 'Copying failed';
    setTimeout(() => {
      button.textContent = 'Copy';
      status.textContent = '';
    }, 2000);
  });
  figure.querySelector('figcaption').append(button);
}

// "/" moves to the search field.
const search = document.querySelector('.search input');
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  search.focus();
});
