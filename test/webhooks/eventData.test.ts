import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { balanceEventData, EVENT_KINDS, EVENTS, type EventData, LOW_CREDITS } from '../../schemas/events.ts';

const ajv = new Ajv2020({ strict: false });

test('the data of the events that a charge fires has the type and the schema of its kind', (t) => {
  const low: EventData<'credits.low'> = balanceEventData('credits.low', 24);
  t.deepEqual(low, { balance: 24, threshold: LOW_CREDITS, message: 'Only 24 credits are left.' });
  const exhausted: EventData<'credits.exhausted'> = balanceEventData('credits.exhausted', 0);
  t.deepEqual(exhausted, {
    balance: 0,
    message: 'No credits are left. Calls fail until credits are added.',
  });
  t.true(ajv.validate(EVENTS['credits.low'].data, low));
  t.true(ajv.validate(EVENTS['credits.exhausted'].data, exhausted));
  t.false(ajv.validate(EVENTS['credits.low'].data, exhausted));
});

for (const kind of EVENT_KINDS)
  test(`${kind}: the example has the schema of the kind`, (t) => {
    t.true(ajv.validate(EVENTS[kind].data, EVENTS[kind].example), ajv.errorsText());
  });
