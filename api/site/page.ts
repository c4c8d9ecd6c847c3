import type { Html } from '../dashboard/frame/html.ts';
import type { Heading } from './markdown.ts';

/** A page of the documentation. */
export interface Page {
  /** Path without an extension, such as `/docs/quickstart`; the Markdown is at the same path with `.md`. */
  path: string;
  title: string;
  /** One sentence of plain text. */
  summary: string;
  /** The page in Markdown, with its title. */
  markdown: string;
  /** The page below the title. */
  body: Html;
  headings: readonly Heading[];
  /** Path of the Atom feed with the same content. */
  feed?: string;
}

/** A section of the sidebar and of llms.txt. */
export interface Section {
  title: string;
  pages: readonly Page[];
}

/** The readers of a page, to which a search can be limited: callers of the API, or operators of the service. */
export const SCOPES = ['customers', 'operators'] as const;
export type Scope = (typeof SCOPES)[number];

/** A part of the documentation with a sidebar of its own. */
export interface Area {
  title: string;
  /** Path of its first page. */
  path: string;
  scope: Scope;
  sections: readonly Section[];
}
