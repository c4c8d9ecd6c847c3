import { spawnSync } from 'node:child_process';
import { recordAt, recordsAt } from './json.ts';

/** Parses a feed with Expat, and checks what RFC 4287 requires of its elements (sections 4.1.1 and 4.1.2). */
const PARSE = `
import json, re, sys
import xml.etree.ElementTree as tree
ATOM = '{http://www.w3.org/2005/Atom}'
TIME = re.compile(r'\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z')

def text(parent, name):
    found = parent.findall(ATOM + name)
    assert len(found) == 1, f'{len(found)} elements {name} in {parent.tag}'
    assert found[0].text, f'{name} is empty'
    return found[0].text

def links(parent):
    found = {link.get('rel'): link.get('href') for link in parent.findall(ATOM + 'link')}
    assert len(found) == len(parent.findall(ATOM + 'link')), 'two links with one rel'
    assert all(re.match('https?://', href) for href in found.values()), found
    return found

def read(element):
    assert TIME.fullmatch(text(element, 'updated')), text(element, 'updated')
    return {'id': text(element, 'id'), 'title': text(element, 'title'), 'updated': text(element, 'updated'), 'links': links(element)}

feed = tree.fromstring(sys.stdin.buffer.read())
assert feed.tag == ATOM + 'feed', feed.tag
assert feed.find(ATOM + 'author/' + ATOM + 'name').text
assert all(child.tag.startswith(ATOM) for child in feed.iter())
entries = []
for entry in feed.findall(ATOM + 'entry'):
    content = entry.find(ATOM + 'content')
    assert content.get('type') == 'html'
    entries.append({**read(entry), 'html': content.text})
print(json.dumps({**read(feed), 'entries': entries}))
`;

interface FeedPart {
  id: string;
  title: string;
  updated: string;
  links: Record<string, unknown>;
}

export interface ParsedFeed extends FeedPart {
  entries: (FeedPart & { html: string })[];
}

const partOf = (value: Record<string, unknown>): FeedPart => ({
  id: String(value.id),
  title: String(value.title),
  updated: String(value.updated),
  links: recordAt(value, 'links'),
});

/** Parses an Atom feed. @throws if it is not well-formed, or lacks what the standard requires */
export function parseFeed(xml: string): ParsedFeed {
  const { stdout, stderr, status } = spawnSync('/usr/bin/python3', ['-c', PARSE], {
    input: xml,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  const feed = recordAt(JSON.parse(stdout));
  const entries = recordsAt(feed.entries).map((entry) => ({ ...partOf(entry), html: String(entry.html) }));
  return { ...partOf(feed), entries };
}
