// Redirects old links to operations of the API reference.
if (location.pathname === '/docs' && location.hash.startsWith('#/'))
  location.replace(`/docs/reference${location.hash}`);
