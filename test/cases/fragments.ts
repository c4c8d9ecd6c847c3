/** For each fragment, whether a browser finds its target in the page TARGET. */
export const FRAGMENTS: Readonly<Record<string, boolean>> = {
  id: true,
  'no-such': false,
  ID: false,
  named: true,
  'div-name': false,
  top: true,
  TOP: true,
  't%6fp': true,
  ':~:text=hello': true,
  'id:~:text=hello': true,
  'no-such:~:text=hello': false,
  'gr%C3%BC%C3%9Fe': true,
  grüße: true,
  'with%20space': true,
  'with space': true,
  'a%2525b': true,
  'per%cent': true,
  '100%25': true,
  '%FF': false,
  'a+b': true,
  'a%20b': false,
  'in-svg': true,
  'in-template': false,
  'in-comment': false,
  'in-noscript': false,
  'user-content-id': false,
  '0': true,
  // Cases of the fixtures of lychee, another link checker.
  'colon%3Akept': true,
  twice: true,
  'by-script': false,
  'Upper-%C3%84%C3%96': true,
  'upper-%C3%84%C3%96': false,
  'in-quirk': true,
};
export const TARGET = `<!doctype html><meta charset=utf-8><p id=id>hello<a name=named></a><div name=div-name></div>
  <p id="grüße"><p id="with space"><p id="a%25b"><p id="per%cent"><p id="100%"><p id="a+b"><p id=0><p id="">
  <svg><g id=in-svg /></svg><template><p id=in-template></template><!-- <p id=in-comment> -->
  <noscript><p id=in-noscript></noscript><p id="colon%3Akept"><p id=twice><p id=twice><p id="Upper-ÄÖ">
  <script>document.body.id = 'by-script'</script><P ID='in-quirk'>`;
