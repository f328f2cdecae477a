// A line without axes that shows how a number moved. The number itself stands beside it.

const HEIGHT = 28;
const WIDTH = 120;
/** The height of the picture compared with that of the highest value. */
const HEADROOM = 1.3;
/** Pixels that stay free for the width of the line. */
const EDGE = 2;

/** The line, oldest value first. It takes the same room without values. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const most = HEADROOM * Math.max(1, ...values);
  const points = values.map((value, at) => ({
    x: (at / Math.max(1, values.length - 1)) * WIDTH,
    y: HEIGHT - EDGE - (value / most) * (HEIGHT - 2 * EDGE),
  }));
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {points.length > 1 && <polyline points={points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />}
    </svg>
  );
}
