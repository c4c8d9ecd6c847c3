// Shows the first page of a PDF. The program that draws it is loaded only on pages with one.
const LARGEST_SCALE = 3;

const bytesOf = (link) =>
  Uint8Array.from(atob(link.href.split(',')[1]), (character) => character.charCodeAt(0));

for (const preview of document.querySelectorAll('[data-pdf]')) {
  const link = document.getElementById(preview.dataset.pdf);
  const canvas = preview.querySelector('canvas');
  const caption = preview.querySelector('figcaption');
  const show = async () => {
    const { getDocument, GlobalWorkerOptions } = await import('/dashboard/pdf.mjs');
    GlobalWorkerOptions.workerSrc = '/dashboard/pdf.worker.mjs';
    const task = getDocument({ data: bytesOf(link), disableFontFace: true, useWasm: false, verbosity: 0 });
    try {
      const file = await task.promise;
      const page = await file.getPage(1);
      preview.hidden = false;
      const { width } = page.getViewport({ scale: 1 });
      const scale = Math.min(LARGEST_SCALE, (preview.clientWidth / width) * devicePixelRatio);
      const viewport = page.getViewport({ scale });
      canvas.width = viewport.width;
      canvas.height = viewport.height;
      await page.render({ canvas, viewport }).promise;
      caption.textContent = `Page 1 of ${file.numPages}`;
      canvas.setAttribute('aria-label', `Page 1 of ${file.numPages} of the PDF`);
      preview.dataset.shown = '';
    } finally {
      await task.destroy();
    }
  };
  // Without the preview, the link still saves the file.
  show().catch(() => {
    preview.hidden = true;
  });
}
