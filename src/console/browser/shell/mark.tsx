// The logo of Mneme: an M of joined points.

/** The logo, in the colour of the surrounding text. `size` is in pixels. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" fill="none" aria-hidden="true">
      <path
        d="M7 24V9l9 9 9-9v15"
        stroke="currentColor"
        stroke-width="2.4"
        stroke-linecap="round"
        stroke-linejoin="round"
        opacity="0.55"
      />
      {[
        [7, 24, 2.6],
        [7, 9, 3.2],
        [16, 18, 3.8],
        [25, 9, 3.2],
        [25, 24, 2.6],
      ].map(([x, y, radius]) => (
        <circle key={`${x} ${y}`} cx={x} cy={y} r={radius} fill="currentColor" />
      ))}
    </svg>
  );
}
