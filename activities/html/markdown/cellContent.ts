import type { PhrasingContent, RootContent } from 'mdast';

const BREAK: PhrasingContent = { type: 'html', value: '<br>' };

/** Converts blocks to the one line of a table cell, with `<br>` between the lines. */
export function cellContent(nodes: readonly RootContent[]): PhrasingContent[] {
  const made: PhrasingContent[][] = [];
  const visit = (node: RootContent, mark: string): void => {
    switch (node.type) {
      case 'paragraph':
      case 'heading': {
        const children = node.children.map((it) => (it.type === 'break' ? BREAK : it));
        made.push(mark === '' ? children : [{ type: 'text', value: mark }, ...children]);
        break;
      }
      case 'code':
        for (const line of node.value.split('\n'))
          if (line.trim() !== '') made.push([{ type: 'inlineCode', value: line }]);
        break;
      case 'math':
        made.push([{ type: 'inlineMath', value: node.value }]);
        break;
      case 'list':
        for (const [index, item] of node.children.entries())
          for (const [at, child] of item.children.entries())
            visit(child, at > 0 ? mark : node.ordered === true ? `${(node.start ?? 1) + index}. ` : '• ');
        break;
      case 'blockquote':
        for (const child of node.children) visit(child, mark);
        break;
      case 'table':
        for (const row of node.children)
          made.push(
            row.children.flatMap((cell, at) =>
              at > 0 ? [{ type: 'text' as const, value: ' ' }, ...cell.children] : cell.children,
            ),
          );
        break;
      default:
    }
  };
  for (const node of nodes) visit(node, '');
  return made
    .flatMap((line, index) => (index > 0 ? [BREAK, ...line] : line))
    .map((it) =>
      it.type === 'inlineCode' && it.value.includes('\\|') ? { type: 'text', value: it.value } : it,
    );
}
