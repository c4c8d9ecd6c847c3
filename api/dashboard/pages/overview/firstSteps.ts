import { html } from '../../frame/html.ts';
import type { Step } from './checklist.ts';

interface Progress {
  openedAt: Date;
  now: Date;
  /** Whether this installation sends mail. If so, the address of this account has been verified. */
  sendsMail: boolean;
  hasKey: boolean;
  /** Whether a program has made a call with a key. */
  hasCalled: boolean;
  hasEndpoint: boolean;
  hasAlert: boolean;
}

/** Accounts that make calls and are older than this do not see the list of first steps. */
const CHECKLIST_MS = 14 * 86_400_000;

/** The steps from sign-up to a working integration; none for an account that is in use. */
export function firstSteps({
  openedAt,
  now,
  sendsMail,
  hasKey,
  hasCalled,
  hasEndpoint,
  hasAlert,
}: Progress): Step[] {
  if (hasCalled && now.getTime() - openedAt.getTime() > CHECKLIST_MS) return [];
  return [
    ...(sendsMail ? [{ title: 'Verify your email address', text: html``, isDone: true }] : []),
    {
      title: 'Create a key',
      text: html`Programs authenticate with a key. <a href="/dashboard/keys#new">Create a key</a>`,
      isDone: hasKey,
    },
    {
      title: 'Make the first call with a key',
      text: hasKey
        ? html`The <a href="/dashboard/tools/hash-text#code">page of a tool</a> shows a complete call for curl, Node.js and Python.`
        : html`The page of a new key shows a complete call for curl, Node.js and Python.`,
      isDone: hasCalled,
    },
    {
      title: 'Add a webhook',
      text: html`Get notified when credits run low or a key changes. <a href="/dashboard/webhooks">Add an endpoint</a>`,
      isDone: hasEndpoint,
    },
    ...(sendsMail
      ? [
          {
            title: 'Set an alert',
            text: html`Get an email before credits run out. <a href="/dashboard/credits#alerts">Set an alert</a>`,
            isDone: hasAlert,
          },
        ]
      : []),
  ];
}
