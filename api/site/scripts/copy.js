// Adds a copy button to each code block, also to those that other scripts add.
const status = document.createElement('p');
status.className = 'skip';
status.setAttribute('role', 'status');
document.body.append(status);

const addCopyButtons = (root) => {
  for (const figure of root.querySelectorAll('figure.code')) {
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
};
addCopyButtons(document);
document.addEventListener('added', ({ target }) => addCopyButtons(target));
