// Adds a copy button to keys, secrets, ids and snippets. Browsers provide the clipboard only in secure contexts (HTTPS or
// localhost).
if (navigator.clipboard !== undefined)
  for (const element of document.querySelectorAll('[data-copy]')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    const label =
      element.getAttribute('aria-label') ??
      element.closest('td')?.dataset.title ??
      element.closest('div')?.querySelector('dt')?.textContent;
    if (label) button.setAttribute('aria-label', `Copy ${label}`);
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(element.textContent);
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Copy failed';
      }
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 2000);
    });
    if (element.matches('pre')) {
      const frame = document.createElement('div');
      frame.className = 'frame';
      element.replaceWith(frame);
      frame.append(element, button);
    } else element.after(' ', button);
  }
