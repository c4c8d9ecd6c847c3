import { randomUUID } from 'node:crypto';
import { type Fault, invalidInput } from '../../../../schemas/errors.ts';
import type { Broadcast } from '../../../../store/accounts/broadcast.ts';
import { BROADCAST_LEVELS } from '../../../../store/status/statusDocs.ts';
import type { Failure } from '../../components/alert.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import {
  NOTICE_HOURS,
  NOTICE_LENGTH,
  NOTICE_NEWS,
  NOTICE_PATH,
  type NoticeNews,
  operatorNoticePage,
} from './view.ts';

const HOUR_MS = 3_600_000;
const EMPTY = { text: '', level: 'info', hours: '24' };

const isNews = (text: string): text is NoticeNews => Object.hasOwn(NOTICE_NEWS, text);

/** @throws ServiceError invalid_input */
function parse({ text, level: name, hours: duration }: typeof EMPTY, id: string): Broadcast {
  const level = BROADCAST_LEVELS.find((it) => it === name);
  const hours = NOTICE_HOURS.find((it) => String(it) === duration);
  const faults: Fault[] = [];
  if (text.trim() === '' || text.length > NOTICE_LENGTH)
    faults.push({ pointer: '/text', message: `must have 1 to ${NOTICE_LENGTH} characters` });
  if (level === undefined)
    faults.push({ pointer: '/level', message: `must be one of ${BROADCAST_LEVELS.join(', ')}` });
  if (hours === undefined)
    faults.push({ pointer: '/hours', message: `must be one of ${NOTICE_HOURS.join(', ')}` });
  if (faults.length > 0 || level === undefined || hours === undefined) throw invalidInput(faults);
  return { id, text: text.trim(), level, expiresAt: new Date(Date.now() + hours * HOUR_MS) };
}

/** Registers the operator's page about the notice. */
export function noticeRoutes({ operatorPages: pages, broadcasts }: Dashboard): void {
  async function page({ ctx, viewer }: Visit, more: { draft?: typeof EMPTY; failure?: Failure } = {}) {
    const done = single(ctx, 'done');
    return operatorNoticePage({
      viewer,
      current: await broadcasts.current(),
      draft: EMPTY,
      reference: randomUUID(),
      news: isNews(done) ? done : null,
      ...more,
    });
  }

  pages.get(NOTICE_PATH, async (visit) => sendPage(visit.ctx, await page(visit)));

  pages.post(NOTICE_PATH, async (visit) => {
    const { ctx, form } = visit;
    const field = (name: keyof typeof EMPTY) => form.get(name) ?? '';
    const draft = { text: field('text'), level: field('level'), hours: field('hours') };
    const publish = async () => {
      await broadcasts.publish(parse(draft, form.get('reference') || randomUUID()));
      goTo(ctx, `${NOTICE_PATH}?done=published`);
    };
    await attempt(ctx, publish, (failure) => page(visit, { draft, failure }));
  });

  const end = async ({ ctx }: Submission) => {
    await broadcasts.end();
    goTo(ctx, `${NOTICE_PATH}?done=ended`);
  };
  pages.post(`${NOTICE_PATH}/end`, end, { page: () => NOTICE_PATH });
}
