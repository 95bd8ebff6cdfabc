use super::*;

#[test]
fn the_clock_is_read_after_each_65536_of_work_and_not_before() {
    let mut slice = TimeSlice::until(Instant::now());
    for _ in 0..2 {
        assert!(!slice.is_over_after(65_535), "the time is over, and nobody has looked");
        assert!(slice.is_over_after(1));
    }
    assert!(!TimeSlice::endless().is_over_after(65_536));
}
