import type { Account } from '../../../../store/accounts/accountDocs.ts';
import { previewAdjustment } from '../../../billing/adjustment.ts';
import { alert } from '../../components/alert.ts';
import { postForm, referenceField } from '../../components/form.ts';
import { count, number, typed } from '../../components/text.ts';
import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { accountPath } from '../paths.ts';

interface AdjustmentPage {
  viewer: Viewer;
  account: Account;
  amount: number;
  reason: string;
  /** Idempotency reference of the adjustment. */
  reference: string;
}

/** For operators: what an adjustment will change, with a button that applies it. */
export function operatorAdjustmentPage({
  viewer,
  account,
  amount,
  reason,
  reference,
}: AdjustmentPage): string {
  const path = accountPath(account._id);
  const { balance, shortfall } = previewAdjustment(account, amount);
  const change = `${amount > 0 ? 'Add' : 'Remove'} ${count(Math.abs(amount), 'credit')}`;
  return layout({
    title: 'Confirm the adjustment',
    menu: { viewer, section: 'Operator' },
    parent: { path, name: 'Account' },
    main: html`${
      shortfall > account.shortfall
        ? alert({
            message: `This adjustment removes only ${count(account.balance - balance, 'credit')}, because the account has no more. The rest becomes a shortfall of ${count(shortfall, 'credit')}, which suspends the account until new credits cover it.`,
            faults: [],
          })
        : null
    }
<dl class="facts">
<div><dt>Account</dt> <dd>${typed(account.email)} <code>${account._id}</code></dd></div>
<div><dt>Change</dt> <dd><strong>${change}</strong></dd></div>
<div><dt>Reason</dt> <dd>${typed(reason)}</dd></div>
<div><dt>Balance</dt> <dd>${number(account.balance)} now, <strong>${number(balance)}</strong> after the adjustment</dd></div>
<div><dt>Shortfall</dt> <dd>${number(account.shortfall)} now, ${number(shortfall)} after the adjustment</dd></div>
</dl>
<p class="quiet">Calls that end in the meantime also change the balance.</p>
${postForm({
  action: path,
  viewer,
  kind: 'inline',
  content: html`${referenceField(reference)}
<input type="hidden" name="amount" value="${amount}">
<input type="hidden" name="reason" value="${reason}">
<div class="actions"><button>${change}</button> <a class="button" href="${path}#adjustment">Cancel</a></div>`,
})}`,
  });
}
