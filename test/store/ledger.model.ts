import type { HoldPool } from '../../store/accounts/accountDocs.ts';

/** Reference model of one account's ledger as the contract specifies it: in memory, one operation at a time. */
export class ModelAccount {
  balance: number;
  shortfall = 0;
  /** The entries in the order of the statement: type, amount, and the balance after each. */
  readonly lines: { type: string; amount: number; balanceAfter: number }[] = [];
  readonly events: string[] = [];
  readonly holds = new Map<string, { price: number; pool: HoldPool }>();
  readonly calls = new Map<string, 'running' | 'charged' | 'refunded' | 'refused'>();
  readonly #references = new Set<string>();

  constructor(credits: number) {
    this.balance = 0;
    if (credits > 0) this.#post('signup', credits);
  }

  get reserved(): number {
    return [...this.holds.values()].reduce((sum, { price }) => sum + price, 0);
  }

  running(pool: HoldPool): number {
    return [...this.holds.values()].filter((hold) => hold.pool === pool).length;
  }

  #post(type: string, amount: number): void {
    this.balance += amount;
    this.lines.push({ type, amount, balanceAfter: this.balance });
  }

  accept(callId: string): void {
    this.calls.set(callId, 'running');
  }

  /** Returns the result that a new reservation must have. */
  verdict(price: number, pool: HoldPool, maxRunning: number): 'held' | 'insufficient' | 'busy' | 'suspended' {
    if (this.shortfall > 0) return 'suspended';
    if (this.balance - this.reserved < price) return 'insufficient';
    return this.running(pool) >= maxRunning ? 'busy' : 'held';
  }

  reserve(callId: string, price: number, pool: HoldPool, maxRunning: number): string {
    if (this.calls.get(callId) !== 'running') return 'closed';
    if (this.holds.has(callId)) return 'held';
    const verdict = this.verdict(price, pool, maxRunning);
    if (verdict === 'held') this.hold(callId, price, pool);
    return verdict;
  }

  hold(callId: string, price: number, pool: HoldPool): void {
    this.holds.set(callId, { price, pool });
  }

  /** Applies a settlement. @returns the state in which the call has ended */
  settle(callId: string, wanted: 'charged' | 'refunded'): 'charged' | 'refunded' {
    const hold = this.holds.get(callId);
    if (this.calls.get(callId) === 'running') {
      if (wanted === 'charged' && hold !== undefined) this.#charge(callId, hold.price);
      if (wanted === 'refunded') this.calls.set(callId, hold === undefined ? 'refused' : 'refunded');
      this.holds.delete(callId);
    }
    return this.calls.get(callId) === 'charged' ? 'charged' : 'refunded';
  }

  #charge(callId: string, price: number): void {
    const before = this.balance;
    this.#post('charge', -price);
    this.calls.set(callId, 'charged');
    if (before >= 25 && this.balance < 25) this.events.push('credits.low');
    if (before > 0 && this.balance === 0) this.events.push('credits.exhausted');
  }

  /**
   * Adds an amount; a negative amount is taken from the balance.
   *
   * @param taken how much of a negative amount was taken from the balance, if concurrent operations leave that open
   * @returns the remaining shortfall
   */
  grant(type: string, amount: number, reference: string, taken?: number): number {
    if (this.#references.has(`${type}:${reference}`)) return this.shortfall;
    this.#references.add(`${type}:${reference}`);
    if (amount < 0) {
      const takes = taken ?? Math.min(-amount, this.balance - this.reserved);
      if (takes > 0) this.#post(type, -takes);
      this.shortfall += -amount - takes;
      return this.shortfall;
    }
    this.#post(type, amount);
    const recovered = Math.min(amount, this.shortfall);
    if (recovered > 0) this.#post('recovery', -recovered);
    this.shortfall -= recovered;
    this.events.push('credits.granted');
    return this.shortfall;
  }
}
