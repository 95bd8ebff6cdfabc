import { inScript } from '../docs/script';

const LOG = `     Running unittests src/lib.rs (target/soak/deps/kithdb_engine-4f)

running 3 tests
test a::passes ... ok <0.250s>
test a::fails ... FAILED <0.500s>
test b::fails_too ... FAILED <0.100s>

failures:

---- a::fails stdout ----

thread 'worker' (12) panicked at src/a.rs:9:5:
asked to panic by the test
stack backtrace:
   0: worker

thread 'a::fails' (11) panicked at src/a.rs:3:5:
assertion failed: found

---- b::fails_too stdout ----
Error: "no such file"


failures:
    a::fails
    b::fails_too

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.85s
`;

test('what a failed Rust test said is in the summary of a run', () => {
  const counted = inScript(
    'scripts/test/cargo.mjs',
    `(() => {
      const calls = [];
      const tally = new Proxy({}, { get: (_, name) => (...values) => calls.push([name, ...values]) });
      return { passed: script.countTests(tally, ${JSON.stringify(LOG)}), calls };
    })()`,
  );
  expect(counted).toEqual({
    passed: 1,
    calls: [
      ['time', 'src/lib.rs a::passes', 0.25],
      ['time', 'src/lib.rs a::fails', 0.5],
      ['time', 'src/lib.rs b::fails_too', 0.1],
      [
        'fail',
        'src/lib.rs a::fails',
        "thread 'a::fails' (11) panicked at src/a.rs:3:5:\nassertion failed: found",
      ],
      ['fail', 'src/lib.rs b::fails_too', 'Error: "no such file"'],
      ['add', { passed: 1, failed: 2 }],
    ],
  });
});
