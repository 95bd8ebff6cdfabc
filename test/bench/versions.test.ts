import { inModule } from './module';

function interval(ratios: number[]): unknown {
  return inModule('interval.mjs', `return m.ratioInterval(${JSON.stringify(ratios)});`);
}

describe('the interval of paired ratios', () => {
  it('is the geometric mean with the limits of a paired t test', () => {
    // By hand: logarithms of mean 0 and standard deviation ln 2, of which the error is ln 2 / √3, times 4.303.
    const { ratio, low, high } = interval([0.5, 1, 2]) as { ratio: number; low: number; high: number };
    expect(ratio).toBeCloseTo(1, 12);
    expect(Math.log(high)).toBeCloseTo((4.303 * Math.LN2) / Math.sqrt(3), 9);
    expect(low * high).toBeCloseTo(1, 12);
  });

  it('has no width where all ratios are equal', () => {
    const { ratio, low, high } = interval([1.25, 1.25, 1.25]) as { ratio: number; low: number; high: number };
    expect([ratio, low, high].map((value) => value.toFixed(9))).toEqual(Array(3).fill('1.250000000'));
  });

  it('is refused for a single pair, and for a ratio that is not a positive number', () => {
    expect(interval([1])).toEqual({ error: 'an interval needs two pairs, not 1' });
    expect(interval([1, 0])).toEqual({ error: 'a ratio must be above 0' });
  });
});
