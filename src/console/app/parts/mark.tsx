/** The mark of the product. Its colours are those of the scheme. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path class="mark-line" d="M7 25L7 7L25 7M7 16L25 25L16 16L25 7M16 16L7 16" />
      <circle class="mark-node" cx="7" cy="7" r="3.4" />
      <circle class="mark-node" cx="25" cy="7" r="3.4" />
      <circle class="mark-node" cx="7" cy="25" r="3.4" />
      <circle class="mark-node" cx="25" cy="25" r="3.4" />
      <circle class="mark-centre" cx="16" cy="16" r="4.4" />
    </svg>
  );
}
