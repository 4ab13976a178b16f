//! Slices as slices of arrays.

use bytemuck::Pod;

/// The arrays of `N` items from the start on, and what is left.
#[inline(always)]
pub(crate) fn chunks<T: Pod, const N: usize>(items: &[T]) -> (&[[T; N]], &[T]) {
    let (whole, rest) = items.split_at(items.len() / N * N);
    (bytemuck::cast_slice(whole), rest)
}

/// The arrays of `N` items from the start on, to be changed. What is left is left out.
#[inline(always)]
pub(crate) fn chunks_mut<T: Pod, const N: usize>(items: &mut [T]) -> &mut [[T; N]] {
    let whole = items.len() / N * N;
    bytemuck::cast_slice_mut(&mut items[..whole])
}

/// Exactly `N` items: these, where there are as many; else they are put in `room`, and zeros follow them.
#[inline(always)]
pub(crate) fn padded<'a, const N: usize>(items: &'a [u64], room: &'a mut [u64; N]) -> &'a [u64; N] {
    if let Ok(items) = items.try_into() {
        return items;
    }
    *room = [0; N];
    room[..items.len()].copy_from_slice(items);
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_cut_from_the_start_and_the_rest_is_what_does_not_fill_one() {
        let mut items: Vec<u32> = (0..10).collect();
        assert_eq!(chunks::<_, 4>(&items), (&[[0, 1, 2, 3], [4, 5, 6, 7]][..], &[8, 9][..]));
        assert_eq!(chunks::<u32, 4>(&[]), (&[][..], &[][..]));
        chunks_mut::<_, 4>(&mut items)[1][0] = 40;
        assert_eq!(items[4], 40);
        assert_eq!(chunks_mut::<_, 11>(&mut items).len(), 0);
    }

    #[test]
    fn zeros_follow_items_that_are_too_few() {
        for (items, all) in [(&[][..], [0; 3]), (&[7, 8][..], [7, 8, 0]), (&[7, 8, 9][..], [7, 8, 9])] {
            assert_eq!(padded(items, &mut [1; 3]), &all);
        }
    }
}
